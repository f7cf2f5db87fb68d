/// The list of changes that each store keeps for a while: Apple's notifications, Google's voided purchases.
extension Store {
  /// The name of the cursor of the list, which every pull reads.
  ///
  /// - Parameter app: Another app than the ledger's first one, which has a list of its own.
  func feedCursor(in environment: StoreEnvironment, of app: String? = nil) -> String {
    (self == .apple ? "apple.notifications." : "google.voided.") + environment.rawValue + (app.map { ".\($0)" } ?? "")
  }

  /// How long the store keeps it, in milliseconds: Apple 180 days, 30 in the sandbox; Google 30.
  func feedKept(in environment: StoreEnvironment) -> Int64 {
    (self == .apple && environment != .sandbox ? 180 : 30) * 86_400_000
  }
}
