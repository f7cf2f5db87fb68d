import MapStoreWire

/// What is owned, for the time without network.
extension RegionShelf {
  /// Asks the server what is owned, signed for the time without network: step 3 of ``sync(with:queue:onProgress:)``.
  ///
  /// - Throws: ``MapStoreError`` `.grant` for a document that cannot be believed; the one that was here stays.
  public func refreshGrants(from client: StoreClient) async throws {
    try await refreshGrants(from: client, attemptsMax: nil)
  }

  private func refreshGrants(from client: StoreClient, attemptsMax: Int?) async throws {
    try belong(to: client)
    let signed = try await client.grants(attemptsMax: attemptsMax)
    let newKeys = grants.mayBeOfANewKey(signed) ? try await client.grantKeys().keys : nil
    try grants.accept(
      signed, newKeys: newKeys, accountID: client.session.details?.account.id, now: options.clock.now())
  }

  /// The same after something that is done whatever comes of it: asks once. Where no key is trusted nothing that comes would be believed.
  func tryGrants(from client: StoreClient) async {
    guard grants.trustsSomebody else { return }
    try? await refreshGrants(from: client, attemptsMax: 1)
  }

  /// What was just loaded is owned: where no document says so yet, as on a new phone, it is to open without network all the same.
  func vouch(for region: String, from client: StoreClient) async {
    if (try? usability(of: region).isUsable) != true { await tryGrants(from: client) }
  }
}
