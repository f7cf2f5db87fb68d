import MapStoreServer
import PurchaseLedger
import TileIndex

/// What the process tells its caller; docs/store.md, The command, has the table.
enum ExitStatus: Int32 {
  case configuration = 2
  case ledger = 3
  case unavailable = 69
  case internalError = 70

  /// The status for an error of ours; nil for the argument parser's.
  init?(of error: any Error) {
    switch error {
    case let error as StoreError: self = error.code == .cannotListen ? .unavailable : .configuration
    case let error as LedgerError: self = [.configuration, .input].contains(error.code) ? .configuration : .ledger
    case is BundleError: self = .configuration
    default: return nil
    }
  }
}
