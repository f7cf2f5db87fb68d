extension Ledger {
  /// One transaction of each of a store's customers that we know: the history of any of them is the history of all.
  ///
  /// A customer is taken for an account of ours; a grant that nobody owns is a customer by itself.
  package func customers(of store: Store, in environment: StoreEnvironment) throws -> [String] {
    try readStatement { db in
      let select = try SQLStatement(
        db,
        """
        SELECT min(original_id) FROM entitlement WHERE store = ?1 AND environment = ?2 AND account IS NOT NULL
        GROUP BY account
        UNION ALL SELECT original_id FROM entitlement WHERE store = ?1 AND environment = ?2 AND account IS NULL
        """)
      select.bind(1, store.code)
      select.bind(2, environment.code ?? 0)
      return try select.all { $0.text(0) }
    }
  }

  /// Every purchase of Google's, with what Google wants to be asked with; revoked ones too, which its voided list forgets.
  package func googlePurchases(in environment: StoreEnvironment) throws -> [LookupHint] {
    try readStatement { db in
      let select = try SQLStatement(
        db,
        """
        SELECT transaction_id, product_id, purchase_token FROM store_transaction
        WHERE store = 2 AND environment = ? AND purchase_token IS NOT NULL
        """)
      select.bind(1, environment.code ?? 0)
      return try select.all {
        LookupHint(
          key: TransactionKey(store: .google, environment: environment, id: $0.text(0)), productID: $0.text(1),
          purchaseToken: $0.text(2))
      }
    }
  }
}
