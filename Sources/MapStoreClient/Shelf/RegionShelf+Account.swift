import MapStoreWire

/// Whose shelf it is: a device may pass from one person to another.
extension RegionShelf {
  /// Tells the shelf who has signed in. What was known of another person is forgotten: library and grants. Installed files stay, and are of use to those who own them.
  ///
  /// What is asked of a server tells it as well (``StoreClient/session``), so this is only needed by apps that do not ask anything after signing in.
  ///
  /// - Parameter accountID: ``AccountDetails/id``.
  /// - Throws: ``MapStoreError`` `.shelf`, `.noSpace`.
  public func belong(to accountID: String) throws {
    guard try grants.accountID() != accountID else { return }
    // First, so that a kill in between leaves nothing that counts for somebody else.
    try grants.setAccount(accountID)
    try state.replaceLibrary([])
    try grants.forget()
  }

  func belong(to client: StoreClient) throws {
    if let account = client.session.details?.account.id { try belong(to: account) }
  }

  /// Somebody signs out: what was owned is not shown any more. Installed files stay, and are of use to those who own them.
  public func forgetAccount() throws {
    try grants.forget()
    try state.replaceLibrary([])
    try grants.setAccount(nil)
  }
}
