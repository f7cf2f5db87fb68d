import CSQLite
import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// An SQLite VFS for databases under construction, which writes their pages many at a time.
///
/// SQLite writes each page by a call of its own, and the file system's work for a call exceeds that for its bytes. Here
/// the main database's pages wait in ``PageWindows``; everything else is the default VFS's. When a transaction has been
/// committed without an error, all of them are in the file.
enum GatheringFileSystem {
  static let name = "gathering"

  /// True when the VFS is available. Registers it on first use.
  static let isAvailable: Bool = {
    guard let parent else { return false }
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: parent.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.szOsFile = Int32(parentOffset) + parent.pointee.szOsFile
    vfs.pointee.zName = UnsafePointer(strdup(name))
    vfs.pointee.xOpen = openFile
    return sqlite3_vfs_register(vfs, 0) == SQLITE_OK
  }()

  /// The default VFS; it is never unregistered.
  nonisolated(unsafe) private static let parent: UnsafeMutablePointer<sqlite3_vfs>? = sqlite3_vfs_find(nil)

  /// The structure that SQLite allocates for each open file; begins like `sqlite3_file`. The parent's structure follows
  /// at ``parentOffset``.
  private struct OpenedFile {
    var base: sqlite3_file
    var windows: Unmanaged<PageWindows>
  }

  private static let parentOffset = (MemoryLayout<OpenedFile>.stride + 15) & ~15

  private static func windows(_ file: UnsafeMutablePointer<sqlite3_file>?) -> PageWindows {
    UnsafeMutableRawPointer(file!).assumingMemoryBound(to: OpenedFile.self).pointee.windows.takeUnretainedValue()
  }

  private static let openFile:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
      UnsafeMutablePointer<Int32>?
    ) -> Int32 = { _, path, file, flags, outFlags in
      guard let parent, let file, let open = parent.pointee.xOpen else { return SQLITE_CANTOPEN }
      // Journals and temporary files are the parent's alone.
      guard flags & SQLITE_OPEN_MAIN_DB != 0 else { return open(parent, path, file, flags, outFlags) }
      file.pointee.pMethods = nil
      let inner = (UnsafeMutableRawPointer(file) + parentOffset).assumingMemoryBound(to: sqlite3_file.self)
      let code = open(parent, path, inner, flags, outFlags)
      guard code == SQLITE_OK else {
        // SQLite closes only what has methods.
        _ = inner.pointee.pMethods?.pointee.xClose(inner)
        return code
      }
      UnsafeMutableRawPointer(file).initializeMemory(
        as: OpenedFile.self,
        to: OpenedFile(base: sqlite3_file(pMethods: methods), windows: .passRetained(PageWindows(inner))))
      return SQLITE_OK
    }

  nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    // Version 1: neither shared memory nor mapped pages.
    methods.pointee.iVersion = 1
    methods.pointee.xClose = { file in
      let windows = windows(file)
      let code = windows.end()
      let closed = windows.methods.xClose(windows.file)
      UnsafeMutableRawPointer(file!).assumingMemoryBound(to: OpenedFile.self).pointee.windows.release()
      return code == SQLITE_OK ? closed : code
    }
    methods.pointee.xRead = { file, bytes, count, offset in
      let windows = windows(file)
      let code = windows.settle(offset..<(offset + Int64(count)))
      return code == SQLITE_OK ? windows.methods.xRead(windows.file, bytes, count, offset) : code
    }
    methods.pointee.xWrite = { windows($0).write($1!, Int($2), at: $3) }
    methods.pointee.xTruncate = { file, bytes in
      let windows = windows(file)
      let code = windows.settle()
      return code == SQLITE_OK ? windows.methods.xTruncate(windows.file, bytes) : code
    }
    methods.pointee.xSync = { file, flags in
      let windows = windows(file)
      let code = windows.settle()
      return code == SQLITE_OK ? windows.methods.xSync(windows.file, flags) : code
    }
    methods.pointee.xFileSize = { file, bytes in
      let windows = windows(file)
      let code = windows.methods.xFileSize(windows.file, bytes)
      if let bytes { bytes.pointee = max(bytes.pointee, windows.fileEnd) }
      return code
    }
    methods.pointee.xLock = { windows($0).methods.xLock(windows($0).file, $1) }
    methods.pointee.xUnlock = { windows($0).methods.xUnlock(windows($0).file, $1) }
    methods.pointee.xCheckReservedLock = { windows($0).methods.xCheckReservedLock(windows($0).file, $1) }
    methods.pointee.xFileControl = { file, operation, argument in
      let windows = windows(file)
      // A commit says this whether or not it then syncs, and heeds the answer.
      if operation == SQLITE_FCNTL_SYNC {
        let code = windows.settle()
        guard code == SQLITE_OK else { return code }
      }
      return windows.methods.xFileControl(windows.file, operation, argument)
    }
    methods.pointee.xSectorSize = { windows($0).methods.xSectorSize(windows($0).file) }
    methods.pointee.xDeviceCharacteristics = { windows($0).methods.xDeviceCharacteristics(windows($0).file) }
    return methods
  }()
}
