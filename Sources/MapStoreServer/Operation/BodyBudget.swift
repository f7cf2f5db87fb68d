import PurchaseLedger
import Synchronization

/// The memory for bodies of requests under way, of all connections together: with thousands of connections, a limit for
/// each is not enough.
///
/// Requests without a session get at most half of it, one address a 64th, one account an eighth, so that no client
/// takes the memory of all others.
final class BodyBudget: Sendable {
  enum Holder: Hashable, Sendable {
    case address(String)
    case account(AccountID)
  }

  private struct State {
    var total = 0
    var ofStrangers = 0
    var held: [Holder: Int] = [:]
  }

  private let bytesMax: Int
  /// At least one body, whatever the share of the whole is.
  private let addressBytesMax: Int
  private let accountBytesMax: Int
  private let state = Mutex(State())

  init(_ limits: StoreLimits) {
    bytesMax = max(limits.bodiesBytes, limits.bodyBytes)
    addressBytesMax = max(limits.bodiesBytes / 64, limits.messageBytes, limits.smallBodyBytes)
    accountBytesMax = max(limits.bodiesBytes / 8, limits.bodyBytes)
  }

  /// The bytes that are reserved now.
  var total: Int { state.withLock { $0.total } }

  /// The memory of one request, released with this object: bodies are copied while they are read and recorded.
  final class Share: Sendable {
    private let budget: BodyBudget
    private let holder: Holder
    private let bytes = Mutex(0)

    init(_ budget: BodyBudget, of holder: Holder) { (self.budget, self.holder) = (budget, holder) }

    deinit { bytes.withLock { if $0 > 0 { budget.give($0, holder) } } }

    /// False if there is no room for more.
    func take(_ count: Int) -> Bool {
      guard budget.take(count, holder) else { return false }
      bytes.withLock { $0 += count }
      return true
    }
  }

  private func take(_ count: Int, _ holder: Holder) -> Bool {
    state.withLock { state in
      let isStranger = if case .address = holder { true } else { false }
      let held = state.held[holder, default: 0] + count
      guard state.total + count <= bytesMax, held <= (isStranger ? addressBytesMax : accountBytesMax),
        !isStranger || state.ofStrangers + count <= max(bytesMax / 2, addressBytesMax)
      else { return false }
      state.total += count
      if isStranger { state.ofStrangers += count }
      state.held[holder] = held
      return true
    }
  }

  private func give(_ count: Int, _ holder: Holder) {
    state.withLock { state in
      state.total -= count
      if case .address = holder { state.ofStrangers -= count }
      let held = state.held[holder, default: 0] - count
      state.held[holder] = held > 0 ? held : nil
    }
  }
}
