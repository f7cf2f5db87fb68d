/// Whose evidence Apple's has to be: the checks of every layer.
struct AppleIdentity: Sendable {
  let bundleID: String?
  let appAppleID: Int64?
  let requiredEnvironment: StoreEnvironment?

  init(_ identity: StoreIdentity) {
    bundleID = identity.bundleID
    appAppleID = identity.appAppleID
    requiredEnvironment = identity.requiredEnvironment
  }

  func check(bundleID found: String?, in layer: String) throws(Refusal) {
    guard let bundleID, found != bundleID else { return }
    throw Refusal(.wrongBundle, "the \(layer) is of \(found ?? "no app"), not of \(bundleID)")
  }

  /// Apple gives its id of the app in production only.
  func check(appAppleID found: Int64?, environment: StoreEnvironment, in layer: String) throws(Refusal) {
    guard let appAppleID, environment == .production, found != appAppleID else { return }
    throw Refusal(
      .wrongApp, "the \(layer) is of the app \(found.map(String.init) ?? "without an Apple id"), not of \(appAppleID)")
  }

  /// - Returns: A reason to put it in quarantine, nil when the environment is a known one of the store.
  func check(_ environment: StoreEnvironment, in layer: String) throws(Refusal) -> Refusal? {
    if environment.isLocalTest {
      throw Refusal(.testEnvironment, "the \(layer) is of \(environment), which is a developer's machine, not a store")
    }
    if let requiredEnvironment, environment != requiredEnvironment {
      throw Refusal(.wrongEnvironment, "the \(layer) is of \(environment), not of \(requiredEnvironment)")
    }
    guard environment.code == nil else { return nil }
    return Refusal(.unknownEnvironment, "the \(layer) names the environment \(environment), which is not known here")
  }
}
