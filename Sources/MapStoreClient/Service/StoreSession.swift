public import MapStoreWire
import Synchronization

/// The session of one person, renewed when it is over.
public final class StoreSession: Sendable {
  private let current: Mutex<SessionDetails?>
  private let device: Mutex<String?>
  private let credentials: @Sendable () async throws -> Credentials?
  private let changed: @Sendable (SessionDetails?) -> Void

  /// - Parameters:
  ///   - session: as it was kept since the last time; apps keep it in the system's key store, never on the shelf.
  ///   - deviceToken: of the last sign-in, where the session is over.
  ///   - credentials: asked when the server does not take the session any more; nil reports ``MapStoreError/Code/signedOut``.
  ///   - changed: told of new sessions, to keep them, and of the end of one.
  public init(
    _ session: SessionDetails? = nil, deviceToken: String? = nil,
    credentials: @escaping @Sendable () async throws -> Credentials? = { nil },
    changed: @escaping @Sendable (SessionDetails?) -> Void = { _ in }
  ) {
    current = Mutex(session)
    // One that was kept unchecked by an earlier version is forgotten: without it the device is a stranger, and can
    // sign in.
    device = Mutex(
      [session?.deviceToken, deviceToken].compactMap { $0 }.first { (try? AnswerRule.deviceToken($0)) != nil })
    (self.credentials, self.changed) = (credentials, changed)
  }

  public var details: SessionDetails? { current.withLock { $0 } }

  /// Shown at the next sign-in; it outlasts the session.
  public var deviceToken: String? { device.withLock { $0 } }

  func set(_ session: SessionDetails?) {
    current.withLock { $0 = session }
    if let token = session?.deviceToken { device.withLock { $0 = token } }
    changed(session)
  }

  func newCredentials() async throws -> Credentials? { try await credentials() }
}
