import CSQLite
import Support

/// How the last run of a command ended, as a row of `cursor`: not an event, because it says nothing about purchases.
package struct LastRunNote: Sendable, Hashable {
  package static let reconcile = "last.reconcile"
  package static let backup = "last.backup"

  /// Whether the command found nothing for a person.
  package var isClean: Bool
  /// What it left: for `reconcile` the differences that remain.
  package var remaining: Int?

  package init(isClean: Bool, remaining: Int? = nil) {
    self.isClean = isClean
    self.remaining = remaining
  }

  // MARK: Stored form: `clean` or `found`, then the number

  init(_ text: String) {
    let parts = text.split(separator: " ")
    self.init(isClean: parts.first == "clean", remaining: parts.count > 1 ? Int(parts[1]) : nil)
  }

  var text: String { (isClean ? "clean" : "found") + (remaining.map { " \($0)" } ?? "") }

  /// Writes the note into a ledger that no object of this process has open any more. Waits a second for other writers.
  ///
  /// - Returns: False if the file cannot be written now: the command's own result does not depend on it.
  package func record(_ name: String, in path: String, at now: Int64) -> Bool {
    do {
      let db = try SQLiteConnection(
        uri: SQLiteConnection.uri(path: path, parameters: []), flags: SQLITE_OPEN_READWRITE)
      db.setBusyTimeout(milliseconds: 1000)
      try db.setCursor(name, to: text, at: now)
      return true
    } catch { return false }
  }
}
