import PurchaseLedger
import Synchronization

/// The files that are on their way, counted for each account.
final class Transfers: Sendable {
  private let counts = Mutex<[AccountID: Int]>([:])

  var total: Int { counts.withLock { $0.values.reduce(0, +) } }

  /// A transfer that has begun; it ends with the object, whatever becomes of the connection.
  final class Ticket: Sendable {
    private let transfers: Transfers
    private let account: AccountID

    fileprivate init(_ transfers: Transfers, _ account: AccountID) {
      (self.transfers, self.account) = (transfers, account)
    }

    deinit { transfers.end(account) }
  }

  /// Nil when the account has as many already.
  func begin(_ account: AccountID, max: Int) -> Ticket? {
    let isAllowed = counts.withLock { counts in
      guard counts[account, default: 0] < max else { return false }
      counts[account, default: 0] += 1
      return true
    }
    return isAllowed ? Ticket(self, account) : nil
  }

  private func end(_ account: AccountID) {
    counts.withLock { counts in
      let count = counts[account, default: 1] - 1
      counts[account] = count > 0 ? count : nil
    }
  }
}
