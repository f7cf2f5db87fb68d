import Foundation
import GRDB

extension Accounts {
  /// A login as it is kept: without spaces around it, in lower case.
  ///
  /// What nobody sees, or what turns the order of letters around, would make two logins that look alike.
  package static func normalised(_ login: String) throws(LedgerError) -> String {
    let trimmed = login.trimmingCharacters(in: .whitespacesAndNewlines).precomposedStringWithCompatibilityMapping
      .lowercased()
    guard !trimmed.isEmpty, trimmed.utf8.count <= 254, trimmed.unicodeScalars.allSatisfy(isVisible) else {
      throw LedgerError(
        .account, at: "login", "must have 1 to 254 bytes, and no control, bidirectional or other invisible characters")
    }
    return trimmed
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: false
    default: true
    }
  }

  /// More bytes than a password has, in whatever form a keyboard spells its characters: hashing them would be work for nothing.
  static let passwordBytesMax = 16_384

  /// Characters as people count them, of whatever script, in the form that is hashed.
  static func check(_ password: String) throws(LedgerError) {
    guard password.utf8.count <= passwordBytesMax,
      (8...1024).contains(password.precomposedStringWithCompatibilityMapping.unicodeScalars.count)
    else { throw LedgerError(.account, at: "password", "must have 8 to 1,024 characters") }
  }

  struct Credential: Sendable {
    var account: Int64
    var id: AccountID
    var password: PasswordHash
  }

  static func credential(_ db: some StatementConnection, login: String) throws -> Credential? {
    let select = try SQLStatement(
      db,
      """
      SELECT c.account, a.id, c.salt, c.hash, c.rounds, c.block_size, c.parallelism
      FROM credential AS c JOIN account AS a ON a.number = c.account WHERE c.login = ?
      """)
    select.bind(1, login)
    return try select.first { row in
      row.uuid(1).map { id in
        Credential(
          account: row.int(0), id: AccountID(id),
          password: PasswordHash(
            salt: row.blob(2), hash: row.blob(3),
            cost: .init(rounds: row.int(4), blockSize: row.int(5), parallelism: row.int(6))))
      }
    } ?? nil
  }

  static func store(_ hash: PasswordHash, of account: Int64, login: String, at now: Int64, in db: Database) throws {
    let insert = try SQLStatement(
      db,
      """
      INSERT INTO credential (login, account, salt, hash, rounds, block_size, parallelism, changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """)
    insert.bind(1, login)
    bind(hash, of: account, at: now, to: insert)
    try insert.run()
  }

  static func replace(_ hash: PasswordHash, of account: Int64, at now: Int64, in db: Database) throws {
    let update = try SQLStatement(
      db,
      """
      UPDATE credential SET salt = ?3, hash = ?4, rounds = ?5, block_size = ?6, parallelism = ?7, changed_at = ?8
      WHERE account = ?2
      """)
    bind(hash, of: account, at: now, to: update)
    try update.run()
  }

  private static func bind(_ hash: PasswordHash, of account: Int64, at now: Int64, to statement: SQLStatement) {
    statement.bind(2, account)
    statement.bind(3, hash.salt)
    statement.bind(4, hash.hash)
    statement.bind(5, hash.cost.rounds)
    statement.bind(6, hash.cost.blockSize)
    statement.bind(7, hash.cost.parallelism)
    statement.bind(8, now)
  }
}
