import GRDB

/// Steps through the snapshot and our transactions of one store and environment in the order of their ids, side by side.
///
/// - Complexity: O(rows) time, constant memory: of a row that agrees only id, digest and token are looked at, in SQLite's own buffers.
struct SnapshotMerge {
  enum Step {
    case matched
    case differs(String)
    case storeOnly(String)
    case ownOnly(String)
  }

  private let theirs: SQLStatement
  private let ours: SQLStatement

  init(ours: Database, theirs: Database, store: UInt8, environment: UInt8) throws {
    func select(_ db: Database, _ table: String) throws -> SQLStatement {
      let statement = try SQLStatement(
        db,
        """
        SELECT transaction_id, digest, token FROM \(table) WHERE store = ? AND environment = ? ORDER BY transaction_id
        """)
      statement.bind(1, store)
      statement.bind(2, environment)
      return statement
    }
    self.theirs = try select(theirs, "store_snapshot")
    self.ours = try select(ours, "store_transaction")
  }

  func run(_ body: (Step) throws -> Void) throws {
    defer {
      theirs.reset()
      ours.reset()
    }
    var hasTheirs = try theirs.step()
    var hasOurs = try ours.step()
    while hasTheirs || hasOurs {
      let order = !hasTheirs ? 1 : !hasOurs ? -1 : SQLStatement.order(theirs.bytes(0), ours.bytes(0))
      if order < 0 {
        try body(.storeOnly(theirs.text(0)))
      } else if order > 0 {
        try body(.ownOnly(ours.text(0)))
      } else if agree {
        try body(.matched)
      } else {
        try body(.differs(ours.text(0)))
      }
      if order <= 0 { hasTheirs = try theirs.step() }
      if order >= 0 { hasOurs = try ours.step() }
    }
  }

  /// The same state, and the store names no account that we do not know of.
  private var agree: Bool {
    SQLStatement.order(theirs.bytes(1), ours.bytes(1)) == 0
      && (theirs.isNull(2) || SQLStatement.order(theirs.bytes(2), ours.bytes(2)) == 0)
  }
}
