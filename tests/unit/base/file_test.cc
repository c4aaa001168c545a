// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "catch2_any.h"

namespace plumber {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone afterwards.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "plumber-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() {
    fs::permissions(path_, fs::perms::owner_all);
    fs::remove_all(path_);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.kind == ErrorKind::kIo);
    return format(error);
  }
  return "no error";
}

unsigned mode_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777u;
}

/// Writes fail beyond this size, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

}  // namespace

TEST_CASE("what was written is read back, with every byte value and over a chunk's size") {
  const Folder folder;
  std::string bytes(3'000'000, 'x');
  for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<char>(i);
  write_output(folder / "out", bytes);
  CHECK(read_file(folder / "out") == bytes);
  write_output(folder / "out", "");
  CHECK(read_file(folder / "out").empty());
}

TEST_CASE("reading names the file and says what the system said") {
  const Folder folder;
  CHECK(error_of([&] { read_file(folder / "none"); }) ==
        "plumber: error: " + (folder / "none") +
            ": cannot open: No such file or directory"
            "\nhint: check the name; names are relative to the current directory");
  CHECK(error_of([&] { read_file(folder.path()); }) ==
        "plumber: error: " + folder.path() + ": cannot read: Is a directory");
}

TEST_CASE("a stream without an end is given up") {
  CHECK(error_of([] { read_file("/dev/zero"); }) ==
        "plumber: error: /dev/zero: it goes on after 256 MiB, which no trace does");
}

TEST_CASE("an unreadable file is an error") {
  const Folder folder;
  write_output(folder / "secret", "x");
  fs::permissions(folder / "secret", fs::perms::none);
  if (::access((folder / "secret").c_str(), R_OK) == 0) return;  // root reads everything
  CHECK(error_of([&] { read_file(folder / "secret"); }) ==
        "plumber: error: " + (folder / "secret") + ": cannot open: Permission denied");
}

TEST_CASE("a new file gets the mode that the process gives to new files") {
  const Folder folder;
  const mode_t before = ::umask(027);
  write_output(folder / "out", "x");
  ::umask(before);
  CHECK(mode_of(folder / "out") == 0640);
}

TEST_CASE("a replaced file keeps its mode") {
  const Folder folder;
  write_output(folder / "out", "old");
  ::chmod((folder / "out").c_str(), 0604);
  write_output(folder / "out", "new");
  CHECK(read_file(folder / "out") == "new");
  CHECK(mode_of(folder / "out") == 0604);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a link stays a link; the file it points to is written") {
  const Folder folder;
  fs::create_directory(folder / "deep");
  write_output(folder / "deep/real", "old");
  fs::create_symlink("deep/real", folder / "second");
  fs::create_symlink("second", folder / "first");
  write_output(folder / "first", "new");
  CHECK(fs::is_symlink(folder / "first"));
  CHECK(fs::is_symlink(folder / "second"));
  CHECK(read_file(folder / "deep/real") == "new");
}

TEST_CASE("a link to nothing makes the file that it points to") {
  const Folder folder;
  fs::create_symlink("real", folder / "link");
  write_output(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "real") == "new");
}

TEST_CASE("a link to itself is an error") {
  const Folder folder;
  fs::create_symlink("loop", folder / "loop");
  CHECK(error_of([&] { write_output(folder / "loop", "x"); }) ==
        "plumber: error: " + (folder / "loop") +
            ": cannot open for writing: Too many levels of symbolic links");
}

TEST_CASE("a write that fails halfway leaves the target as before and nothing beside it") {
  const Folder folder;
  write_output(folder / "out", "old");
  std::string error;
  {
    const FileSizeLimit limit(10);
    error = error_of([&] { write_output(folder / "out", std::string(100, 'x')); });
  }
  CHECK(error == "plumber: error: " + (folder / "out") + ": cannot write: File too large");
  CHECK(read_file(folder / "out") == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a full device reports the write error and stays a device") {
  CHECK(error_of([] { write_output("/dev/full", "x"); }) ==
        "plumber: error: /dev/full: cannot write: No space left on device\n"
        "hint: free some space, or write to another place");
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a pipe is written directly") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const int reader = ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_output(folder / "pipe", "through");
  CHECK(read_descriptor(reader, "pipe") == "through");
  ::close(reader);
  CHECK(fs::is_fifo(folder / "pipe"));
}

TEST_CASE("several files are written all or not at all") {
  const Folder folder;
  write_output(folder / "plan", "old");
  CHECK(error_of([&] {
          write_outputs({{folder / "plan", "new"}, {folder / "none/program", "x"}});
        }).find("does not exist") != std::string::npos);
  CHECK(error_of([&] {
          write_outputs({{folder / "plan", "new"}, {"/dev/full", "x"}});
        }).find("/dev/full: cannot write") != std::string::npos);
  CHECK(read_file(folder / "plan") == "old");
  CHECK(folder.entries() == 1);
  write_outputs({{folder / "plan", "new"}, {folder / "program", "x"}});
  CHECK(read_file(folder / "plan") == "new");
  CHECK(read_file(folder / "program") == "x");
}

TEST_CASE("a missing directory is named") {
  const Folder folder;
  CHECK(error_of([&] { write_output(folder / "none/out", "x"); }) ==
        "plumber: error: " + (folder / "none/out") + ": the directory '" + (folder / "none") +
            "' does not exist\nhint: make it first, or name another place");
  CHECK(error_of([&] { write_output(folder.path(), "x"); }) ==
        "plumber: error: " + folder.path() + ": is a directory\nhint: name a file in it");
}

TEST_CASE("protected files and directories are respected") {
  const Folder folder;
  write_output(folder / "out", "old");
  fs::permissions(folder / "out", fs::perms::owner_read);
  if (::access((folder / "out").c_str(), W_OK) == 0) return;  // root writes everything
  CHECK(error_of([&] { write_output(folder / "out", "new"); }) ==
        "plumber: error: " + (folder / "out") + ": cannot open for writing: Permission denied");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(error_of([&] { write_output(folder / "other", "new"); }) ==
        "plumber: error: " + (folder / "other") + ": cannot create a file in the directory '" +
            folder.path() + "': Permission denied");
}

TEST_CASE("a leftover temporary file does not stop the next write") {
  const Folder folder;
  write_output(folder / (".plumber-" + std::to_string(::getpid()) + "-0.tmp"), "left over");
  write_output(folder / "out", "new");
  CHECK(read_file(folder / "out") == "new");
}

}  // namespace plumber
