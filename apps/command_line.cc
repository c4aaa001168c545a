// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "commands.h"
#include "report/value_text.h"

namespace plumber {
namespace {

constexpr std::size_t kDescriptionWidth = 70;

constexpr const char* kExamples = R"(Examples:
  plumber analyze trace.pb                      what limits the pipeline
  plumber optimize trace.pb --cores 8 --mem 16G --rewrite tuned.pb
                                                what to change, and the changed program
  plumber COMMAND --help                        options of a command)";

// The innermost command: `fit` of `plumber cluster fit`.
const CLI::App& chosen_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return (parent ? full_name(*parent) + " " : "") + command.get_name();
}

void add_option_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
}

// The unknown word with the nearest known one: an option, or a command where one belongs.
[[noreturn]] void refuse_word(const CLI::App& app, const std::string& word) {
  const CLI::App& command = chosen_command(app);
  std::vector<std::string> known;
  const bool is_option = word.starts_with("-");
  if (word.starts_with("--")) {
    add_option_names(command, known);
    if (&command != &app) add_option_names(app, known);
  } else if (!is_option) {
    const CLI::App& group = command.get_subcommands({}).empty() ? app : command;
    for (const CLI::App* other : group.get_subcommands({})) known.push_back(other->get_name());
  }
  const std::string bare = word.substr(0, word.find('='));
  std::string hint = did_you_mean(bare, known);
  if (hint.empty()) {
    hint = full_name(command) + " --help lists what there is";
  }
  throw Error(ErrorKind::kUsage, "",
              (is_option ? "unknown option '" : "unknown command '") + bare + "'", hint);
}

// A group of commands without one of them.
[[noreturn]] void refuse_no_command(const CLI::App& group) {
  throw Error(ErrorKind::kUsage, "",
              group.get_parent() ? "no command of " + full_name(group) : "no command",
              full_name(group) + " --help lists the commands");
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool no_subcommand = dynamic_cast<const CLI::RequiredError*>(&error) &&
                             !chosen_command(app).get_subcommands({}).empty();
  if ((dynamic_cast<const CLI::ExtrasError*>(&error) || no_subcommand) && !unknown.empty()) {
    const auto option = std::find_if(unknown.begin(), unknown.end(),
                                     [](const std::string& word) { return word.starts_with("-"); });
    refuse_word(app, option == unknown.end() ? unknown.front() : *option);
  }
  if (no_subcommand) refuse_no_command(chosen_command(app));
  std::string message = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    // CLI11: "--cores: At Most 1 required but received 2"
    const bool too_many = message.find(": At Most") != std::string::npos;
    message = message.substr(0, message.find(':')) +
              (too_many ? " is given more than once" : " needs a value");
  }
  throw Error(ErrorKind::kUsage, "", message,
              full_name(chosen_command(app)) + " --help shows the options");
}

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--color", globals.color, "Colours in text: auto (on a terminal), always, never")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("-q,--quiet", globals.quiet, "No warnings");
  app.add_flag("-v,--verbose", globals.verbose, "Every row of long tables");
}

// An empty value is a variable of a script that was not set: never "not given".
void refuse_empty_values(CLI::App& command) {
  for (CLI::App* inner : command.get_subcommands({})) refuse_empty_values(*inner);
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    option->check(CLI::Validator(
        [](std::string& value) { return value.empty() ? "its value is empty" : ""; }, ""));
  }
}

// CLI11 keeps the line breaks of a description, but makes none; and it shows the general options in
// the general help alone.
void finish_help(CLI::App& command) {
  for (CLI::App* inner : command.get_subcommands({})) finish_help(*inner);
  command.footer(command.get_footer() +
                 "\n\nplumber --help shows the general options (--color, -q, -v).");
  for (CLI::Option* option : command.get_options()) {
    std::string text;
    for (const std::string& line : wrap(option->get_description(), kDescriptionWidth)) {
      text += (text.empty() ? "" : "\n") + line;
    }
    option->description(text);
  }
}

}  // namespace

Run parse_command_line(int argc, const char* const* argv, Globals& globals) {
  Run run;
  CLI::App app{"plumber finds and removes the bottlenecks of tf.data input pipelines.", "plumber"};
  app.set_version_flag("--version", "plumber " PLUMBER_VERSION);
  app.footer(kExamples);
  app.fallthrough();
  add_globals(app, globals);
  add_analyze(app, globals, run);
  add_optimize(app, globals, run);
  add_rewrite(app, globals, run);
  add_cluster(app, globals, run);
  add_show(app, globals, run);
  add_diff(app, globals, run);
  for (CLI::App* command : app.get_subcommands({})) finish_help(*command);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // help or version
    app.exit(request);
    return [] { return ExitCode::kDone; };
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  if (!run) refuse_no_command(app);
  return run;
}

}  // namespace plumber
