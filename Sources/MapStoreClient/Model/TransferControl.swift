import Synchronization

/// Which connections downloads may use, and how many bytes.
public struct TransferPolicy: Hashable, Sendable, Codable {
  /// Whether downloads may use networks that are paid by the byte: cellular ones, hotspots. False is Wi-Fi only.
  public var usesMetered = true
  /// Whether downloads may use networks for which the person has asked to save data.
  public var usesConstrained = true
  /// The most bytes of downloads in a period; nil for no limit.
  public var budget: ByteBudget?

  /// All networks, without a limit.
  public init() {}

  /// Waits for a network that is not paid by the byte.
  public static let wifiOnly: TransferPolicy = {
    var policy = TransferPolicy()
    policy.usesMetered = false
    return policy
  }()

  /// Why downloads have to wait; nil if they need not.
  func complaint(about network: NetworkPath) -> String? {
    if !network.isConnected { return "waits for a network" }
    if network.isMetered, !usesMetered { return "waits for a network that is not paid by the byte" }
    if network.isConstrained, !usesConstrained { return "waits for a network without a limit on data" }
    return nil
  }
}

/// A number of bytes that may be downloaded in each period. The count outlasts the process.
public struct ByteBudget: Hashable, Sendable, Codable {
  /// Bytes of downloaded files, also of those that arrived in vain.
  public var bytes: Int
  /// The period begins with its first byte.
  public var seconds: Int
  /// Whether bytes count only while the network is paid by the byte.
  public var countsMeteredOnly: Bool

  /// A budget of so many bytes within so many seconds.
  ///
  /// - Parameter seconds: 30 days unless given.
  public init(bytes: Int, seconds: Int = 30 * 86_400, countsMeteredOnly: Bool = true) {
    (self.bytes, self.seconds, self.countsMeteredOnly) = (bytes, seconds, countsMeteredOnly)
  }
}

/// What the system says about the network in use.
public struct NetworkPath: Hashable, Sendable, Codable {
  /// Whether there is a network.
  public var isConnected: Bool
  /// Whether it is paid by the byte.
  public var isMetered: Bool
  /// Whether the person has asked to save data.
  public var isConstrained: Bool

  /// A network without a price, unless said otherwise.
  public init(isConnected: Bool = true, isMetered: Bool = false, isConstrained: Bool = false) {
    (self.isConnected, self.isMetered, self.isConstrained) = (isConnected, isMetered, isConstrained)
  }
}

/// The policy of downloads and the network in use, which both may change at any time: downloads then stop or continue.
///
/// The app sets ``policy`` from its settings. On Apple's platforms `followSystem()` sets ``network``; elsewhere the app
/// does, or leaves it as a network without a price.
public final class TransferControl: Sendable {
  private let values: Mutex<(policy: TransferPolicy, network: NetworkPath)>
  let signal = ChangeSignal()

  /// A control with the policy and network that count until they are set.
  ///
  /// - Parameter network: in use, until it is set.
  public init(policy: TransferPolicy = TransferPolicy(), network: NetworkPath = NetworkPath()) {
    values = Mutex((policy, network))
  }

  /// Which connections downloads may use, and how many bytes.
  public var policy: TransferPolicy {
    get { values.withLock { $0.policy } }
    set { set { $0.policy = newValue } }
  }

  /// The network in use.
  public var network: NetworkPath {
    get { values.withLock { $0.network } }
    set { set { $0.network = newValue } }
  }

  private func set(_ change: (inout (policy: TransferPolicy, network: NetworkPath)) -> Void) {
    values.withLock { change(&$0) }
    signal.send()
  }

  /// Why downloads have to wait now; nil if they need not.
  var complaint: String? { values.withLock { $0.policy.complaint(about: $0.network) } }

  /// Returns once downloads may go on.
  ///
  /// - Parameter waits: called before waiting, with the reason, and again when that changes.
  /// - Throws: `CancellationError`.
  func admit(waits: (String) -> Void) async throws {
    // Before the first look, so that no change is missed.
    let changes = signal.changes()
    guard var last = complaint else { return }
    waits(last)
    for await _ in changes {
      guard let complaint else { return }
      if complaint != last { waits(complaint) }
      last = complaint
    }
    throw CancellationError()
  }
}
