import CSQLite

/// A failed sqlite3 call. Callers convert it to an error that names the file and the operation.
package struct SQLiteError: Error, CustomStringConvertible {
  /// Extended result code.
  package let code: Int32
  package let message: String
  /// errno of the call behind an I/O error, or 0.
  package let systemError: Int32

  /// `SQLITE_INTERRUPT`, extended in the way of SQLite's other codes, which has none of its own.
  static let overBudget = SQLITE_INTERRUPT | 1 << 8

  package init(code: Int32, message: String, systemError: Int32 = 0) {
    self.code = code
    self.message = message
    self.systemError = systemError
  }

  /// Result code without its extension.
  package var primary: Int32 { code & 0xff }
  package var isDiskFull: Bool { primary == SQLITE_FULL || FileSystem.SystemError(number: systemError).isDiskFull }
  package var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }
  /// No such table or column, or a syntax error.
  package var isInvalidSQL: Bool { primary == SQLITE_ERROR }
  /// Ended by a ``Cancellation``.
  package var isInterrupted: Bool { code == SQLITE_INTERRUPT }
  /// Ended because it took more steps than the connection allows.
  package var isOverBudget: Bool { code == Self.overBudget }
  /// A value has more bytes than the connection allows.
  package var isTooBig: Bool { primary == SQLITE_TOOBIG }
  package var isIO: Bool { primary == SQLITE_IOERR || primary == SQLITE_NOMEM || primary == SQLITE_PERM }

  package var description: String {
    systemError == 0 ? message : "\(message) (\(FileSystem.SystemError(number: systemError)))"
  }
}
