import Accounts
import Crypto
import Dispatch
import PurchaseLedger
import Support
import TileIndex

/// The devices from which people have signed in, by the tokens that they send at their next sign-in to the same
/// account. A part of each login's attempts is reserved for known devices, so that an attacker who knows a login cannot
/// lock out its owner.
///
/// A token is random and useless without the password. It ends with the password under which it was given. The database
/// is the service's own (``LinkUses``), shared by processes; it has the tokens' SHA-256 only. Without it, devices are
/// unknown until they sign in.
final class KnownDevices: Sendable {
  /// The most devices of an account: one more, and the one that signed in least recently is unknown.
  static let devicesMax = 8
  /// A year, in milliseconds: a device that has not signed in for longer is unknown.
  static let lasting: Int64 = 365 * 86_400_000

  /// A token's hash: the device's name in limits and in the database.
  struct Device: Hashable, Sendable {
    let id: String

    init(token: String) { id = Hexadecimal.text(SHA256.hash(data: Array(token.utf8))) }
  }

  private let path: String
  private let queue = DispatchQueue(label: "map-store.devices")
  /// Used on the queue only.
  nonisolated(unsafe) private let connection: SQLiteConnection

  /// - Parameter path: of the service's database, which exists.
  /// - Throws: ``StoreError``.
  init(path: String) throws {
    self.path = path
    do {
      connection = try SQLiteConnection(creating: path)
      try connection.execute(
        """
        PRAGMA synchronous = NORMAL;
        CREATE TABLE IF NOT EXISTS device (
          id TEXT PRIMARY KEY, account TEXT NOT NULL, generation INTEGER NOT NULL, used_at INTEGER NOT NULL) WITHOUT \
          ROWID;
        CREATE INDEX IF NOT EXISTS device_account ON device (account);
        """)
    } catch {
      throw StoreError(
        .unreadableInput, at: path, "cannot be used: \(error)",
        remedy: "check the permissions of its folder; the file itself can be removed while no map store runs")
    }
  }

  /// The device of a token that was given to this account under its present password; nil for any other token.
  ///
  /// - Parameter generation: of the account's password.
  func device(_ token: String, of account: AccountID, generation: Int64, now: Int64) async throws -> Device? {
    guard token.utf8.count <= 256 else { return nil }
    let device = Device(token: token)
    return try await perform { connection in
      let select = try connection.prepare(
        "SELECT 1 FROM device WHERE id = ? AND account = ? AND generation = ? AND used_at > ?")
      select.bind(1, device.id)
      select.bind(2, account.description)
      select.bind(3, generation)
      select.bind(4, now - Self.lasting)
      return try select.step() ? device : nil
    }
  }

  /// Notes that a device has signed in: the one of `token`, or a new one. Ends the tokens of earlier passwords, and of
  /// the devices beyond ``devicesMax``.
  ///
  /// - Returns: the device's token.
  func note(_ token: String?, of account: AccountID, generation: Int64, now: Int64) async throws -> String {
    let token = token ?? SessionToken.random().text
    let device = Device(token: token)
    try await perform { connection in
      try connection.transaction(.immediate) {
        let insert = try connection.prepare("INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?)")
        insert.bind(1, device.id)
        insert.bind(2, account.description)
        insert.bind(3, generation)
        insert.bind(4, now)
        try insert.run()
        let delete = try connection.prepare(
          """
          DELETE FROM device WHERE account = ?1 AND id <> ?2 AND (generation <> ?3 OR id NOT IN (
            SELECT id FROM device WHERE account = ?1 AND generation = ?3
            ORDER BY id = ?2 DESC, used_at DESC LIMIT \(Self.devicesMax)))
          """)
        delete.bind(1, account.description)
        delete.bind(2, device.id)
        delete.bind(3, generation)
        try delete.run()
        try connection.execute("DELETE FROM device WHERE used_at <= \(now - Self.lasting)")
      }
    }
    return token
  }

  private func perform<Value: Sendable>(
    _ work: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await queue.run { [self] in
      do { return try work(connection) } catch {
        throw StoreError(
          .unavailable, at: path, "cannot be written: \(error)", remedy: "make room on the disk, or restart")
      }
    }
  }
}
