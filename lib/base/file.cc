// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/error.h"

namespace plumber {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{1} << 31;        // of a protobuf
constexpr size_t kMaxStreamBytes = size_t{1} << 28;  // of what has no size: pipes, devices
constexpr const char* kTooLarge = "larger than 2 GiB, which no trace is";
constexpr size_t kChunkBytes = size_t{1} << 18;
constexpr int kMaxLinks = 40;       // what Linux follows
constexpr int kMaxTempNames = 100;  // leftovers of killed processes that had our number

std::string reason(int error_number) { return std::generic_category().message(error_number); }

// The way out of the failures that people meet.
std::string way_out(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "check the name; names are relative to the current directory";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions of the file and its directory";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or write to another place";
    default:
      return "";
  }
}

Error io_error(const std::string& path, const std::string& message, const std::string& hint = "") {
  return Error(ErrorKind::kIo, path, message, hint);
}

Error io_error(const std::string& path, const std::string& message, int error_number) {
  return io_error(path, message + ": " + reason(error_number), way_out(error_number));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

  /// Some file systems report a failed write only here. Zero, or the error's number.
  int close() {
    const int result = ::close(number_);
    number_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_error(path, "cannot write", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void write_directly(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) throw io_error(path, "cannot open for writing", errno);
  write_all(file.number(), bytes, path);
  if (const int failed = file.close()) throw io_error(path, "cannot write", failed);
}

/// Where the links end; the file there need not exist.
fs::path follow_links(const std::string& path) {
  fs::path target = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code none;
    const fs::path next = fs::read_symlink(target, none);
    if (none) return target;
    target = target.parent_path() / next;
  }
  throw io_error(path, "cannot open for writing", ELOOP);
}

fs::path folder_of(const fs::path& target) {
  const fs::path folder = target.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// A new file beside the target; `descriptor` is set to it. The name does not grow with the
/// target's, which may be as long as the file system allows.
fs::path create_beside(const fs::path& target, const std::string& path, int& descriptor) {
  const fs::path folder = folder_of(target);
  for (int i = 0; i < kMaxTempNames; ++i) {
    const fs::path candidate = folder / fmt::format(".plumber-{}-{}.tmp", ::getpid(), i);
    descriptor = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return candidate;
    if (errno != EEXIST) break;
  }
  throw io_error(path, fmt::format("cannot create a file in the directory '{}': {}",
                                   folder.string(), reason(errno)));
}

/// A whole file beside its target, to be renamed.
struct Staged {
  Staged(fs::path place, std::string given) : target(std::move(place)), path(std::move(given)) {}
  ~Staged() {
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  void write(std::optional<mode_t> mode, std::string_view bytes) {
    int number = -1;
    temporary = create_beside(target, path, number);
    Descriptor file(number);
    write_all(number, bytes, path);
    if (mode && ::fchmod(number, *mode) != 0) {
      throw io_error(path, "cannot keep the file's mode", errno);
    }
    if (::fsync(number) != 0) throw io_error(path, "cannot write", errno);
    if (const int failed = file.close()) throw io_error(path, "cannot write", failed);
  }

  void rename() {
    if (::rename(temporary.c_str(), target.c_str()) != 0) {
      throw io_error(path, "cannot replace the file", errno);
    }
    temporary.clear();
  }

  fs::path target;
  std::string path;    // as it was given
  fs::path temporary;  // empty: there is none (any more)
};

/// Writes the file beside its target; null if the target is no regular file.
std::unique_ptr<Staged> stage(const OutputFile& file) {
  const std::string& path = file.path;
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    throw io_error(path, "is a directory", "name a file in it");
  }
  if (exists && !S_ISREG(status.st_mode)) return nullptr;

  auto staged = std::make_unique<Staged>(follow_links(path), path);
  const fs::path folder = folder_of(staged->target);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw io_error(path, fmt::format("the directory '{}' does not exist", folder.string()),
                   "make it first, or name another place");
  }
  // A rename would get past the file's own protection.
  if (exists && ::access(staged->target.c_str(), W_OK) != 0) {
    throw io_error(path, "cannot open for writing", errno);
  }
  staged->write(exists ? std::optional<mode_t>(status.st_mode & 07777) : std::nullopt, file.bytes);
  return staged;
}

}  // namespace

std::string read_descriptor(int descriptor, const std::string& name) {
  struct stat status = {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (regular && static_cast<size_t>(std::max<off_t>(0, status.st_size)) > kMaxBytes)
    throw io_error(name, kTooLarge);
  const size_t most = regular ? kMaxBytes : kMaxStreamBytes;
  std::string bytes;
  size_t size = 0;
  while (true) {
    bytes.resize(size + kChunkBytes);
    const ssize_t got = ::read(descriptor, bytes.data() + size, kChunkBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error(name, "cannot read", errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size > most)
      throw io_error(name, regular ? kTooLarge : "it goes on after 256 MiB, which no trace does");
  }
  bytes.resize(size);
  return bytes;
}

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) throw io_error(path, "cannot open", errno);
  return read_descriptor(file.number(), path);
}

void write_outputs(const std::vector<OutputFile>& files) {
  std::vector<std::unique_ptr<Staged>> staged;
  for (const OutputFile& file : files) staged.push_back(stage(file));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!staged[i]) write_directly(files[i].path, files[i].bytes);
  }
  for (const auto& file : staged) {
    if (file) file->rename();
  }
}

void write_output(const std::string& path, std::string_view bytes) {
  write_outputs({{path, bytes}});
}

}  // namespace plumber
