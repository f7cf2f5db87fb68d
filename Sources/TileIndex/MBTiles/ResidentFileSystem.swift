import CSQLite
import CSystemShim
import LibC
import Support

/// An SQLite VFS for databases that nobody writes, with non-blocking reads, and a descriptor by which changes are
/// noticed.
///
/// An event loop must not block on a disk, and a hop to another thread costs more than reading a cached page. In
/// non-blocking mode, a page that is not in the system's page cache (`preadv2` with `RWF_NOWAIT`) fails the query with
/// `SQLITE_IOERR_BLOCKED`, and the caller repeats the query on a thread that may block.
///
/// Temporary files, which SQLite needs for sorting many rows, are those of the default VFS: they have no name, and lie
/// in the folder that `SQLITE_TMPDIR` or `TMPDIR` names, or in `/var/tmp`.
enum ResidentFileSystem {
  static let name = "resident"
  /// The error of a read that would block.
  static let wouldWait = SQLITE_IOERR | (11 << 8)
  /// File control opcode that returns a pointer to the ``OpenedFile``. Opcodes above 100,000 are reserved for
  /// applications.
  private static let fileControl: Int32 = 120_301

  /// True where the system has reads that never wait.
  static let canReadResident = csystem_can_read_resident() == 1

  /// The default VFS.
  nonisolated(unsafe) private static let parent = sqlite3_vfs_find(nil)

  /// True when the VFS is available. Registers it on first use.
  static let isAvailable: Bool = {
    guard let parent else { return false }
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // Randomness, sleep and time are delegated to the parent VFS.
    vfs.initialize(to: parent.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.szOsFile = max(Int32(MemoryLayout<OpenedFile>.stride), parent.pointee.szOsFile)
    vfs.pointee.zName = UnsafePointer(strdup(name))
    vfs.pointee.xOpen = openFile
    vfs.pointee.xDelete = { _, _, _ in SQLITE_READONLY }
    vfs.pointee.xAccess = { _, _, _, result in
      result?.pointee = 0
      return SQLITE_OK
    }
    return sqlite3_vfs_register(vfs, 0) == SQLITE_OK
  }()

  /// The open file of a connection; valid as long as the connection is.
  struct File {
    fileprivate let opened: UnsafeMutablePointer<OpenedFile>

    /// Nil when the connection was opened with another VFS.
    init?(_ connection: SQLiteConnection) {
      var file: UnsafeMutablePointer<OpenedFile>?
      guard sqlite3_file_control(connection.handle, "main", fileControl, &file) == SQLITE_OK, let file else {
        return nil
      }
      opened = file
    }

    /// Sets whether reads may block on the disk.
    func setMayWait(_ mayWait: Bool) { opened.pointee.mayWait = mayWait }

    /// The connection's own descriptor; must not be closed.
    var descriptor: Int32 { opened.pointee.descriptor }
  }

  /// The structure that SQLite allocates for each open file; begins like `sqlite3_file`.
  fileprivate struct OpenedFile {
    var base: sqlite3_file
    var descriptor: Int32
    var mayWait: Bool
    /// The file is in an in-memory file system, which never blocks and does not support `RWF_NOWAIT`.
    var isInMemory: Bool
  }

  nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    methods.pointee.iVersion = 1
    methods.pointee.xClose = { file in
      LockedFiles.close(opened(file).pointee.descriptor)
      return SQLITE_OK
    }
    methods.pointee.xRead = read
    methods.pointee.xWrite = { _, _, _, _ in SQLITE_READONLY }
    methods.pointee.xTruncate = { _, _ in SQLITE_READONLY }
    methods.pointee.xSync = { _, _ in SQLITE_OK }
    methods.pointee.xFileSize = { file, size in
      let status = try? FileSystem.status(of: opened(file).pointee.descriptor)
      guard let status else { return SQLITE_IOERR | (7 << 8) }
      size?.pointee = sqlite3_int64(status.bytes)
      return SQLITE_OK
    }
    methods.pointee.xLock = { _, _ in SQLITE_OK }
    methods.pointee.xUnlock = { _, _ in SQLITE_OK }
    methods.pointee.xCheckReservedLock = { _, result in
      result?.pointee = 0
      return SQLITE_OK
    }
    methods.pointee.xFileControl = { file, operation, argument in
      guard operation == fileControl, let argument else { return SQLITE_NOTFOUND }
      argument.storeBytes(of: opened(file), as: UnsafeMutablePointer<OpenedFile>.self)
      return SQLITE_OK
    }
    methods.pointee.xSectorSize = { _ in 4096 }
    methods.pointee.xDeviceCharacteristics = { _ in SQLITE_IOCAP_IMMUTABLE }
    return methods
  }()

  private static func opened(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<OpenedFile> {
    UnsafeMutableRawPointer(file!).assumingMemoryBound(to: OpenedFile.self)
  }

  private static let openFile:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
      UnsafeMutablePointer<Int32>?
    ) -> Int32 = { _, path, file, flags, outFlags in
      file?.pointee.pMethods = nil
      if path == nil, flags & SQLITE_OPEN_DELETEONCLOSE != 0, let parent {
        return parent.pointee.xOpen(parent, nil, file, flags, outFlags)
      }
      guard let path, flags & SQLITE_OPEN_MAIN_DB != 0 else { return SQLITE_CANTOPEN }
      let descriptor = LockedFiles.open(SystemPath.text(path))
      guard descriptor >= 0 else { return SQLITE_CANTOPEN }
      opened(file).pointee = OpenedFile(
        base: sqlite3_file(pMethods: methods), descriptor: descriptor, mayWait: true,
        isInMemory: csystem_is_memory(descriptor) == 1)
      outFlags?.pointee = SQLITE_OPEN_READONLY
      return SQLITE_OK
    }

  fileprivate static let read:
    @convention(c) (
      UnsafeMutablePointer<sqlite3_file>?, UnsafeMutableRawPointer?, Int32, sqlite3_int64
    ) -> Int32 = { file, buffer, count, offset in
      let file = opened(file)
      let wanted = Int(count)
      guard file.pointee.mayWait || file.pointee.isInMemory else {
        // A short count is the end of the file or of its cached part; a blocking read finds out which.
        return csystem_read_resident(file.pointee.descriptor, buffer, wanted, offset) == wanted ? SQLITE_OK : wouldWait
      }
      let target = UnsafeMutableRawBufferPointer(start: buffer, count: wanted)
      guard let done = try? FileSystem.read(file.pointee.descriptor, into: target, at: Int(offset)) else {
        return SQLITE_IOERR | (1 << 8)
      }
      guard done < wanted else { return SQLITE_OK }
      // SQLite requires the rest to be zero.
      memset(buffer! + done, 0, wanted - done)
      return SQLITE_IOERR | (2 << 8)
    }
}
