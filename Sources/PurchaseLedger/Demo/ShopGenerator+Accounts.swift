extension ShopGenerator {
  /// Opens the buyers' accounts: without passwords, whose hashing would take longer than all the rest.
  package func openAccounts(in ledger: Ledger) throws {
    try ledger.write { booker in
      for account in accounts { try booker.append(.accountOpened(account.id, token: account.token)) }
    }
  }
}
