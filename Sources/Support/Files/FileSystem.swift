import LibC

/// The file system calls that the package needs, with errors as values.
package enum FileSystem {
  /// An errno, and its text when shown.
  package struct SystemError: Error, CustomStringConvertible {
    package let number: Int32
    package init(number: Int32) { self.number = number }
    package var description: String { String(cString: strerror(number)).lowercasedFirst }
    package var isDiskFull: Bool { number == ENOSPC || number == EDQUOT }
    package var isExisting: Bool { number == EEXIST }
    package var isNoFolder: Bool { number == ENOTDIR }
    package var isMissing: Bool { number == ENOENT || number == ENOTDIR }
    package var isReadOnly: Bool { number == EROFS }
    package var isForbidden: Bool { [EACCES, EPERM, ELOOP, ENAMETOOLONG].contains(number) }
    /// The process, or the whole system, may open no more files.
    package var isOutOfDescriptors: Bool { number == EMFILE || number == ENFILE }
    /// Too few descriptors or too little memory, which may pass.
    package var isShortage: Bool { isOutOfDescriptors || number == ENOMEM }
    /// The remedy when an existing file or folder cannot be opened.
    package var openingRemedy: String {
      isOutOfDescriptors ? "allow the process more open files" : "check the permissions"
    }
    /// The remedy when a file cannot be written.
    package var writingRemedy: String {
      if isDiskFull { return "free space or choose another disk" }
      return isForbidden || isReadOnly
        ? "check the permissions of its folder, or choose another" : "check the disk it lies on"
    }
  }

  /// The absolute path without symbolic links.
  package static func realPath(_ path: String) throws -> String {
    guard let resolved = realpath(path, nil) else { throw SystemError(number: errno) }
    defer { free(resolved) }
    return SystemPath.text(resolved)
  }

  /// The bytes that this user can still write on the disk of a file or folder; nil where the file system does not say.
  package static func freeBytes(_ path: String) throws -> Int? {
    var info = statvfs()
    guard statvfs(path, &info) == 0 else { throw SystemError(number: errno) }
    guard info.f_blocks > 0 else { return nil }
    return Int(clamping: UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize)).partialValue)
  }

  /// A whole file, also one of a size that is not known beforehand: a pipe, or a file of `/proc`.
  ///
  /// - Throws: the system's error; `EFBIG` for a larger file.
  package static func bytes(of path: String, countMax: Int) throws(SystemError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    return try bytes(from: descriptor, countMax: countMax)
  }

  /// What is left to read from an open file or pipe.
  ///
  /// - Throws: the system's error; `EFBIG` for more than `countMax` bytes.
  package static func bytes(from descriptor: Int32, countMax: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let more = try read(descriptor, count: 65_536)
      if more.isEmpty { return bytes }
      guard bytes.count + more.count <= countMax else { throw SystemError(number: EFBIG) }
      bytes += more
    }
  }

  /// Creates an empty file; fails with `isExisting` when there is a file.
  package static func createExclusively(_ path: String, mode: UInt32 = 0o666) throws {
    let descriptor = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode_t(mode))
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    close(descriptor)
  }

  /// Overwrites the beginning of an existing file.
  package static func write(_ bytes: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    try bytes.withUnsafeBytes { try write($0, to: descriptor) }
  }

  /// Writes bytes to an open file, pipe or terminal.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws {
    var done = 0
    while done < bytes.count {
      let count = LibC.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError(number: errno) }
      done += count
    }
  }

  /// Fills a buffer with the bytes of an open file from an offset on.
  ///
  /// - Returns: the number of bytes read; fewer than requested at the end of the file.
  package static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    guard let base = buffer.baseAddress else { return 0 }
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, base + done, buffer.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw SystemError(number: errno) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes bytes to an open file from an offset on.
  package static func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int
  ) throws(SystemError) {
    guard let base = bytes.baseAddress else { return }
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, base + done, bytes.count - done, off_t(offset + done))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError(number: errno) }
      done += count
    }
  }

  /// Reads what there is, up to `count` bytes; none at the end.
  package static func read(_ descriptor: Int32, count: Int) throws(SystemError) -> [UInt8] {
    var number: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, taken in
      var result: Int
      repeat { result = LibC.read(descriptor, buffer.baseAddress, buffer.count) } while result < 0 && errno == EINTR
      number = result < 0 ? errno : 0
      taken = max(result, 0)
    }
    if number != 0 { throw SystemError(number: number) }
    return bytes
  }

  /// Replaces bytes in the middle of a file.
  package static func write(_ bytes: [UInt8], to path: String, at offset: Int) throws {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    try bytes.withUnsafeBytes { try write($0, to: descriptor, at: offset) }
  }

  /// Cuts a file off after some bytes.
  package static func truncate(_ path: String, toBytes count: Int) throws {
    guard LibC.truncate(path, off_t(count)) == 0 else { throw SystemError(number: errno) }
  }

  package static func remove(_ path: String) { unlink(path) }

  /// Creates a folder; fails with `isExisting` when there is something of that name.
  package static func makeFolder(_ path: String) throws {
    guard mkdir(path, 0o777) == 0 else { throw SystemError(number: errno) }
  }

  /// Writes a new file; fails with `isExisting` when there is one.
  package static func writeNew(_ bytes: UnsafeRawBufferPointer, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    try write(bytes, to: descriptor)
  }

  /// Has a file's bytes, or a folder's entries, on the disk when it returns.
  package static func synchronise(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(number: errno) }
    defer { close(descriptor) }
    try synchronise(descriptor)
  }

  /// The same for an open file or folder.
  package static func synchronise(_ descriptor: Int32) throws {
    #if canImport(Darwin)
      // fsync leaves the bytes in the drive's cache.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    // Some file systems need not synchronise a folder, and report EINVAL or ENOTSUP.
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP else { throw SystemError(number: errno) }
  }

  /// Renames a file in one step. Replaces the file that has the name.
  package static func rename(_ path: String, replacing target: String) throws {
    guard LibC.rename(path, target) == 0 else { throw SystemError(number: errno) }
  }

  /// Renames a file; fails with `isExisting` when there is a file of that name.
  package static func rename(_ path: String, toNew target: String) throws {
    if link(path, target) == 0 {
      unlink(path)
      return
    }
    let error = SystemError(number: errno)
    if error.isExisting { throw error }
    // A file system without hard links (FAT, some network drives): the check leaves a gap of microseconds.
    if try status(target) != nil { throw SystemError(number: EEXIST) }
    try rename(path, replacing: target)
  }

  /// The names in a folder, in no order, without `.` and `..`; none where there is no such folder.
  package static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 1) { SystemPath.text($0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Passes the names in a folder to a closure, in no order, until it returns false. No names where there is no such
  /// folder.
  ///
  /// - Throws: ``SystemError``; what the closure throws.
  package static func forEachName(in folder: String, _ body: (UnsafeBufferPointer<UInt8>) throws -> Bool) throws {
    guard let directory = opendir(folder) else {
      let error = SystemError(number: errno)
      if error.isMissing { return }
      throw error
    }
    defer { closedir(directory) }
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw SystemError(number: errno) }
        return
      }
      let goesOn = try withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        try pointer.withMemoryRebound(to: UInt8.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) { name in
          let count = name.withMemoryRebound(to: CChar.self, capacity: 1) { strlen($0) }
          return try body(UnsafeBufferPointer(start: name, count: count))
        }
      }
      if !goesOn { return }
    }
  }

  /// Creates a folder and its parents.
  package static func makeFolders(_ path: String) throws {
    var built = path.hasPrefix("/") ? "" : "."
    for name in path.split(separator: "/") {
      built += "/\(name)"
      if mkdir(built, 0o777) != 0, errno != EEXIST { throw SystemError(number: errno) }
    }
    guard try status(path)?.kind == .folder else { throw SystemError(number: ENOTDIR) }
  }

  /// Removes a file, or a folder with everything in it. Links in it are removed, not followed. What cannot be removed
  /// stays.
  package static func removeTree(_ path: String) {
    if (try? status(path, followingLinks: false))?.kind == .folder {
      for name in names(in: path) { removeTree("\(path)/\(name)") }
      rmdir(path)
    } else {
      remove(path)
    }
  }

  package static var processID: Int { Int(getpid()) }

  /// False when no process has this id.
  package static func isAlive(processID: Int) -> Bool {
    guard let id = pid_t(exactly: processID), id > 0 else { return false }
    return kill(id, 0) == 0 || errno != ESRCH
  }

  /// True when another process holds a POSIX lock on the file. Not for files that this process has open: closing the
  /// descriptor would drop its own locks.
  package static func isLockedByAnother(_ path: String) -> Bool {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }
}

extension String {
  /// Messages start in lower case; the system's start in upper.
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
