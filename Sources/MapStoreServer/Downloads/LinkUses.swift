import Dispatch
import LibC
import MapStoreWire
import PurchaseLedger
import Support
import TileIndex

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The service's own database beside the ledger: what was sent through each link, which parts of each file each account
/// has, and the hashes of the catalogue's files. It is shared by processes and survives restarts.
///
/// It needs no backup: links expire soon, and whatever matters in a dispute is in the ledger. So commits do not wait
/// for the disk.
final class LinkUses: Sendable {
  enum Answer: Sendable {
    case granted
    /// The file was fetched through the link.
    case used
    /// The link's bytes are used up.
    case spent
  }

  /// A link sends its file this many times at most, all ranges together: a client that resumes needs little more than
  /// one.
  static let timesMax = 3
  private static let partsLastMilliseconds: Int64 = 86_400_000
  private static let partsMax = 64
  private static let version = 1

  private let path: String
  private let queue = DispatchQueue(label: "map-store.links")
  /// Used on the queue only.
  nonisolated(unsafe) private let database: Database

  /// The path for a ledger; the same for every path that leads to the ledger.
  static func path(of ledger: Ledger) -> String { FileSystem.resolvingLinks(ledger.path) + ".shop" }

  /// Creates the file if there is none.
  ///
  /// - Throws: ``StoreError``.
  init(path: String) throws {
    self.path = path
    do {
      // Private, like the ledger. An existing file is not opened here: closing it would release this process's POSIX
      // locks.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 { close(descriptor) }
      database = try Database(path, version: Self.version)
    } catch {
      throw StoreError(
        .unreadableInput, at: path, "cannot be used: \(error)",
        remedy: "check the permissions of its folder; the file itself can be removed while no map store runs")
    }
  }

  func isUsed(_ link: DownloadLink) async throws -> Bool {
    try await perform { try $0.link(link.nonce).isUsed }
  }

  /// Counts a range before it is sent, so that nothing is lost if the process ends.
  ///
  /// - Parameter fileBytes: the size of the whole file.
  func begin(_ count: Int, of link: DownloadLink, fileBytes: Int, now: Int64) async throws -> Answer {
    try await perform { database in
      try database.transaction {
        try database.clean(now: now, partsBefore: now - Self.partsLastMilliseconds)
        let known = try database.link(link.nonce)
        if known.isUsed { return .used }
        guard known.sent + count <= Self.timesMax * fileBytes else { return .spent }
        try database.setLink(link, sent: known.sent + count, isUsed: false)
        return .granted
      }
    }
  }

  /// Records which part of a range was sent, and releases the rest.
  ///
  /// - Returns: whether the account now has the whole file; true once, and the link is used then.
  func end(_ range: Range<Int>, sentTo end: Int, of link: DownloadLink, fileBytes: Int, now: Int64) async throws
    -> Bool
  {
    try await perform { database in
      try database.transaction {
        let known = try database.link(link.nonce)
        var parts = try database.parts(of: link)
        parts.insert(range.lowerBound..<max(range.lowerBound, end))
        // A client that asks for many small parts in random order loses the last ones.
        parts.truncate(to: Self.partsMax)
        let isWhole = fileBytes == 0 || parts.ranges == [0..<fileBytes]
        try database.setParts(isWhole ? nil : parts, of: link, now: now)
        try database.setLink(
          link, sent: max(0, known.sent - (range.upperBound - end)), isUsed: known.isUsed || isWhole)
        return isWhole
      }
    }
  }

  private func perform<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(
          with: Result {
            do { return try work(database) } catch {
              throw StoreError(
                .unavailable, at: path, "cannot be written: \(error)", remedy: "make room on the disk, or restart")
            }
          })
      }
    }
  }
}

extension LinkUses: FileHashStore {
  // Errors are ignored: a hash that cannot be read or written is computed again.
  func hashes(in folder: String) -> [String: CatalogFileVerifier.KnownHash] {
    queue.sync { (try? database.hashes(in: FileSystem.resolvingLinks(folder))) ?? [:] }
  }

  func note(_ hashed: CatalogFileVerifier.KnownHash, of file: String, in folder: String) {
    queue.async { [self] in try? database.setHash(hashed, of: file, in: FileSystem.resolvingLinks(folder)) }
  }

  func forget(_ files: [String], in folder: String) {
    queue.async { [self] in
      try? database.transaction {
        for file in files { try database.setHash(nil, of: file, in: FileSystem.resolvingLinks(folder)) }
      }
    }
  }
}

/// The database's tables and statements.
private final class Database {
  private let connection: SQLiteConnection
  private let selectLink, upsertLink, selectParts, upsertParts, deleteParts: SQLiteStatement
  private var cleanedAt: Int64 = 0

  init(_ path: String, version: Int) throws {
    let connection = try SQLiteConnection(creating: path)
    self.connection = connection
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    try connection.transaction(.immediate) {
      try connection.execute(
        """
        CREATE TABLE IF NOT EXISTS link (
          nonce TEXT PRIMARY KEY, ends_at INTEGER NOT NULL, sent INTEGER NOT NULL, is_used INTEGER NOT NULL) WITHOUT \
          ROWID;
        CREATE TABLE IF NOT EXISTS parts (
          account TEXT, file TEXT, sha256_start TEXT, ranges TEXT NOT NULL, at INTEGER NOT NULL,
          PRIMARY KEY (account, file, sha256_start)) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS hash (
          folder TEXT, file TEXT, stamp TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (folder, file)) WITHOUT ROWID;
        PRAGMA user_version = \(version)
        """)
    }
    selectLink = try connection.prepare("SELECT sent, is_used FROM link WHERE nonce = ?")
    upsertLink = try connection.prepare(
      "INSERT OR REPLACE INTO link (nonce, ends_at, sent, is_used) VALUES (?, ?, ?, ?)")
    selectParts = try connection.prepare(
      "SELECT ranges FROM parts WHERE account = ? AND file = ? AND sha256_start = ?")
    upsertParts = try connection.prepare(
      "INSERT OR REPLACE INTO parts (account, file, sha256_start, ranges, at) VALUES (?, ?, ?, ?, ?)")
    deleteParts = try connection.prepare("DELETE FROM parts WHERE account = ? AND file = ? AND sha256_start = ?")
  }

  func transaction<Value>(_ work: () throws -> Value) throws -> Value {
    try connection.transaction(.immediate, work)
  }

  /// Deletes expired rows, once a minute.
  func clean(now: Int64, partsBefore: Int64) throws {
    guard now - cleanedAt > 60_000 else { return }
    try connection.execute("DELETE FROM link WHERE ends_at <= \(now); DELETE FROM parts WHERE at <= \(partsBefore)")
    cleanedAt = now
  }

  func link(_ nonce: String) throws -> (sent: Int, isUsed: Bool) {
    defer { selectLink.reset() }
    selectLink.bind(1, nonce)
    return try selectLink.step() ? (selectLink.int(0), selectLink.int(1) != 0) : (0, false)
  }

  func setLink(_ link: DownloadLink, sent: Int, isUsed: Bool) throws {
    upsertLink.bind(1, link.nonce)
    upsertLink.bind(2, Int(link.expiresAt))
    upsertLink.bind(3, sent)
    upsertLink.bind(4, isUsed ? 1 : 0)
    try upsertLink.run()
  }

  /// The parts of the link's file that the account has.
  func parts(of link: DownloadLink) throws -> ByteIntervals {
    defer { selectParts.reset() }
    bind(link, to: selectParts)
    return try selectParts.step() ? ByteIntervals(column: selectParts.text(0)) : ByteIntervals()
  }

  /// - Parameter parts: nil deletes them.
  func setParts(_ parts: ByteIntervals?, of link: DownloadLink, now: Int64) throws {
    guard let parts else {
      bind(link, to: deleteParts)
      return try deleteParts.run()
    }
    bind(link, to: upsertParts)
    upsertParts.bind(4, parts.column)
    upsertParts.bind(5, Int(now))
    try upsertParts.run()
  }

  func hashes(in folder: String) throws -> [String: CatalogFileVerifier.KnownHash] {
    let select = try connection.prepare("SELECT file, stamp, sha256 FROM hash WHERE folder = ?")
    select.bind(1, folder)
    var found: [String: CatalogFileVerifier.KnownHash] = [:]
    while try select.step() {
      let stamp = try? JSONDecoder().decode(FileStamp.self, from: Data(select.text(1).utf8))
      guard let file = select.optionalText(0), let stamp, let sha256 = select.optionalText(2) else { continue }
      found[file] = CatalogFileVerifier.KnownHash(stamp: stamp, sha256: sha256)
    }
    return found
  }

  /// - Parameter hashed: nil deletes it.
  func setHash(_ hashed: CatalogFileVerifier.KnownHash?, of file: String, in folder: String) throws {
    guard let hashed, let sha256 = hashed.sha256 else {
      let delete = try connection.prepare("DELETE FROM hash WHERE folder = ? AND file = ?")
      delete.bind(1, folder)
      delete.bind(2, file)
      return try delete.run()
    }
    let upsert = try connection.prepare("INSERT OR REPLACE INTO hash (folder, file, stamp, sha256) VALUES (?, ?, ?, ?)")
    upsert.bind(1, folder)
    upsert.bind(2, file)
    upsert.bind(3, String(decoding: try JSONEncoder().encode(hashed.stamp), as: UTF8.self))
    upsert.bind(4, sha256)
    try upsert.run()
  }

  private func bind(_ link: DownloadLink, to statement: SQLiteStatement) {
    statement.bind(1, link.account.description)
    statement.bind(2, link.file)
    statement.bind(3, link.sha256Start)
  }
}

extension ByteIntervals {
  /// Reads the column `ranges`, as ``column`` writes it.
  fileprivate init(column text: String) {
    self.init()
    for part in text.split(separator: ",") {
      let ends = part.split(separator: "-").compactMap { Int($0) }
      if ends.count == 2, ends[0] < ends[1] { insert(ends[0]..<ends[1]) }
    }
  }

  /// `0-30,50-100`: first byte and the one after the last.
  fileprivate var column: String { ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",") }
}
