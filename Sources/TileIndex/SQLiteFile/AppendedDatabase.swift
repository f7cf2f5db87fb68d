import CSQLite
import Support

/// A new SQLite database whose tiles are written past SQLite.
///
/// 1. SQLite makes the file and its schema, and is closed.
/// 2. ``AppendedTable`` fills tables, page by page. The addresses of tiles are kept (``TileAddresses``).
/// 3. ``finish(putTwice:)`` sorts them into the unique index of the tiles (``AppendedIndex``), and SQLite opens the
///    file again for everything else.
///
/// SQLite would copy the bytes of each page three times, make a call for each and look for the place of every address
/// in a growing index; here bytes are copied once, into a buffer of a megabyte.
final class AppendedDatabase {
  /// SQLite's own page cache; pages that do not fit are written to the file, where the system caches them.
  private static let cacheKibibytes = 8000

  private let path: String
  private let pageBytes: Int
  private let pages: AppendedPages
  private let tables: [String: AppendedTable]
  private let addressTable: String
  private let indexRoot: Int
  private let addresses: TileAddresses

  /// - Parameters:
  ///   - path: an empty file.
  ///   - target: the name that the file will have; files without a name lie beside it.
  ///   - tables: those that are filled, and whether their first column is an INTEGER PRIMARY KEY.
  ///   - addressTable: the one that has a row for each tile, and a unique index of their addresses.
  ///   - create: makes the schema.
  init(
    _ path: String, target: String, pageBytes: Int, tables: [String: Bool], addressTable: String,
    create: (SQLiteConnection) throws -> Void
  ) throws {
    (self.path, self.pageBytes, self.addressTable) = (path, pageBytes, addressTable)
    let connection = try Self.connect(path, pageBytes: pageBytes)
    try create(connection)
    try connection.execute("COMMIT")
    func root(_ type: String, _ table: String) throws -> Int {
      let select = try connection.prepare(
        "SELECT rootpage FROM sqlite_master WHERE type = '\(type)' AND tbl_name = '\(table)'")
      return try select.first { $0.int(0) } ?? 0
    }
    var roots: [String: Int] = [:]
    for table in tables.keys { roots[table] = try root("table", table) }
    indexRoot = try root("index", addressTable)
    try connection.close()
    let pages = try AppendedPages(path, pageBytes: pageBytes)
    self.pages = pages
    self.tables = roots.reduce(into: [:]) { all, root in
      all[root.key] = AppendedTable(pages, root: root.value, hasPrimaryKey: tables[root.key] ?? false)
    }
    addresses = TileAddresses(spillingBeside: target)
  }

  /// One of the tables that are filled.
  func table(_ name: String) -> AppendedTable { tables[name]! }

  /// Notes the address of the last row of the table of addresses, as it is stored.
  func noteAddress(zoom: Int, column: Int, row: Int) throws {
    try addresses.append(
      TileEntry(
        column: UInt32(column), row: UInt32(row), rowID: table(addressTable).rowCount, zoom: UInt8(zoom)))
  }

  /// Completes the tables and the index.
  ///
  /// - Parameter putTwice: the error for an address that was noted twice.
  /// - Returns: a connection for everything else, in a transaction.
  func finish(putTwice: (TileEntry) -> any Error) throws -> SQLiteConnection {
    // In an order that is always the same.
    for name in tables.keys.sorted() { try tables[name]!.finish() }
    let index = AppendedIndex(
      pages, root: indexRoot, count: addresses.count, entryBytesMax: addresses.recordBytesMax)
    var last: TileEntry?
    try addresses.drain { address in
      if let last, last.isSamePlace(as: address) { throw putTwice(address) }
      last = address
      try index.append(address)
    }
    try index.finish()
    try pages.finish()
    return try Self.connect(path, pageBytes: pageBytes)
  }

  /// Opens the database for one transaction without a journal, because an incomplete file is discarded anyway.
  private static func connect(_ path: String, pageBytes: Int) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(
      uri: SQLiteConnection.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE)
    try connection.execute("PRAGMA page_size = \(pageBytes)")
    try connection.execute("PRAGMA encoding = 'UTF-8'")
    try connection.execute("PRAGMA auto_vacuum = NONE")
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    try connection.execute("PRAGMA journal_mode = OFF")
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.execute("PRAGMA temp_store = MEMORY")
    try connection.execute("PRAGMA mmap_size = 0")
    try connection.execute("PRAGMA cache_size = -\(cacheKibibytes)")
    try connection.execute("BEGIN EXCLUSIVE")
    return connection
  }
}
