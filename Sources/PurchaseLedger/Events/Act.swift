/// What an operator did for a customer, with reason and author, or what a customer decided.
package struct Act: Sendable, Hashable {
  /// What was done. Actions of later versions are kept and change nothing.
  package struct Action: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// A purchase goes to an account, whatever token or claim it has.
    package static let transfer = Self(rawValue: "transfer")
    /// An account gets a product that it has not bought, until a time or for good.
    package static let grant = Self(rawValue: "grant")
    /// A purchase or a granted product is taken away.
    package static let revoke = Self(rawValue: "revoke")
    /// All that an account has, and will get, belongs to another one.
    package static let merge = Self(rawValue: "merge")
    /// A password was set.
    package static let password = Self(rawValue: "password")
    /// Test purchases of an account count until a time; without one no longer.
    package static let reviewer = Self(rawValue: "reviewer")
    /// Purchases with an account id of the app's own belong to an account.
    package static let link = Self(rawValue: "link")
    /// The customer allows answers to a store's refund questions, by the text of a version; without one no longer.
    package static let consent = Self(rawValue: "consent")
    /// Somebody looked up an order number, which is the subject.
    package static let order = Self(rawValue: "order")
    /// A refund question was answered; `subject` is the notification's id.
    package static let answer = Self(rawValue: "answer")
  }

  package var action: Action
  /// The original transaction; for a granted product an id of the ledger's own.
  package var transaction: TransactionKey?
  package var account: AccountID?
  /// Of a merge: the account that has everything now.
  package var other: AccountID?
  /// The product, the app's own account id, or the version of a text.
  package var subject: String?
  /// When it was done, in milliseconds since 1970.
  package var date: Int64
  /// Milliseconds since 1970.
  package var until: Int64?
  package var reason: String
  package var author: String
  /// Makes each act an event of its own.
  package var nonce: AccountID

  package init(
    _ action: Action, transaction: TransactionKey? = nil, account: AccountID? = nil, other: AccountID? = nil,
    subject: String? = nil, date: Int64, until: Int64? = nil, reason: String, author: String,
    nonce: AccountID = .random()
  ) {
    self.action = action
    self.transaction = transaction
    self.account = account
    self.other = other
    self.subject = subject
    self.date = date
    self.until = until
    self.reason = reason
    self.author = author
    self.nonce = nonce
  }
}

extension Act {
  func encodeBody(into encoder: inout CanonicalEncoder) {
    encoder.text(action.rawValue)
    encoder.optional(transaction) { $0.transaction($1) }
    encoder.optional(account) { $0.id16($1.uuid) }
    encoder.optional(other) { $0.id16($1.uuid) }
    encoder.optional(subject) { $0.text($1) }
    encoder.i64(date)
    encoder.optional(until) { $0.i64($1) }
    encoder.text(reason)
    encoder.text(author)
    encoder.id16(nonce.uuid)
  }

  init(from decoder: inout CanonicalDecoder) throws {
    let action = Action(rawValue: try decoder.text())
    self.init(
      action, transaction: try decoder.optional { try $0.key() },
      account: try decoder.optional { AccountID(try $0.id16()) },
      other: try decoder.optional { AccountID(try $0.id16()) }, subject: try decoder.optional { try $0.text() },
      date: try decoder.i64(), until: try decoder.optional { try $0.i64() }, reason: try decoder.text(),
      author: try decoder.text(),
      nonce: AccountID(try decoder.id16()))
  }
}

// MARK: - Grants that no purchase makes

extension TransactionKey {
  private static let grantedMark = "support:"
  private static let appMark = "app:"

  /// The key of a product that an operator grants.
  static func granted(_ id: AccountID, in environment: StoreEnvironment) -> Self {
    Self(store: .apple, environment: environment, id: grantedMark + id.description)
  }

  /// The key of an app transaction, which says that a person has the app.
  package static func app(_ id: String, in environment: StoreEnvironment) -> Self {
    Self(store: .apple, environment: environment, id: appMark + id)
  }

  /// Whether it is a product that an operator granted.
  package var isGranted: Bool { id.hasPrefix(Self.grantedMark) }
  /// Whether it is an app transaction, or what it entitles to.
  package var isApp: Bool { id.hasPrefix(Self.appMark) }
  /// Where the grant comes from, for people and programs.
  package var origin: String { isGranted ? "support" : store.rawValue }
}
