import PurchaseLedger

/// What the process tells its caller; docs/ledger.md, The command, has the table.
enum ExitStatus: Int32 {
  case found = 1
  case configuration = 2
  case ledger = 3
  case store = 4
  case internalError = 70

  /// The status for an error of ours; nil for the argument parser's.
  init?(of error: any Error) {
    guard let error = error as? LedgerError else { return nil }
    switch error.code {
    case .configuration, .input, .account, .loginTaken, .wrongPassword, .busy: self = .configuration
    case .store, .notInStore: self = .store
    default: self = .ledger
    }
  }
}
