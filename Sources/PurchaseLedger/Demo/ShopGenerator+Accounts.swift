extension ShopGenerator {
  /// Opens the buyers' accounts.
  package func openAccounts(in ledger: Ledger) throws { try ledger.openAccounts(accounts) }
}

extension Ledger {
  /// Opens accounts without passwords, whose hashing would take longer than all the rest: for made-up shops.
  package func openAccounts(_ accounts: [(id: AccountID, token: AccountToken)]) throws {
    try write { booker in
      for account in accounts { try booker.append(.accountOpened(account.id, token: account.token)) }
    }
  }
}
