/// The list of changes that each store keeps for a while: Apple's notifications, Google's voided purchases.
extension Store {
  /// The name of the cursor of the list, which every pull reads.
  func feedCursor(in environment: StoreEnvironment) -> String {
    (self == .apple ? "apple.notifications." : "google.voided.") + environment.rawValue
  }

  /// How long the store keeps it, in milliseconds: Apple 180 days, 30 in the sandbox; Google 30.
  func feedKept(in environment: StoreEnvironment) -> Int64 {
    (self == .apple && environment != .sandbox ? 180 : 30) * 86_400_000
  }
}
