import Support

/// A line of the spool, of `export --evidence` and of what `merge` reads (docs/reference/ledger-schema.md, The spool).
/// A line of evidence is a wrapper as `import` reads it; a line about an account begins with the member `spool`.
package enum SpoolLine {
  /// A line about an account.
  package enum Account: Sendable, Hashable {
    case opened(AccountID, token: AccountToken)
    case erased(AccountID)
    case credential(Credential)
    /// What an operator did for a customer.
    case act(Act)
  }

  /// An account's login and hashed password.
  package struct Credential: Sendable, Hashable {
    package var account: AccountID
    package var login: String
    package var salt: [UInt8]
    package var hash: [UInt8]
    package var rounds: Int64
    package var blockSize: Int64
    package var parallelism: Int64
    package var changedAt: Int64

    package init(
      account: AccountID, login: String, salt: [UInt8], hash: [UInt8], rounds: Int64, blockSize: Int64,
      parallelism: Int64, changedAt: Int64
    ) {
      (self.account, self.login, self.salt, self.hash) = (account, login, salt, hash)
      (self.rounds, self.blockSize, self.parallelism, self.changedAt) = (rounds, blockSize, parallelism, changedAt)
    }
  }

  private static let opened = "account-opened"
  private static let erased = "account-erased"
  private static let credential = "credential"
  private static let actName = "act"
  /// The beginning of every line about an account.
  static let mark = Array(#"{"spool":"#.utf8)

  // MARK: Writing

  /// A line of evidence.
  static func evidence(
    _ bytes: [UInt8], after prefix: [UInt8] = [], sha256: [UInt8], kind: EvidenceKind,
    context: EvidenceContext = .init(), account: AccountID?,
    isExplicit: Bool = true, channel: Submission.Channel, at time: Int64
  ) -> [UInt8] {
    // Without `JSONValue`, which costs more than all else here.
    var line = Array(#"{"time":\#(time),"channel":"\#(channel.name)","kind":"\#(kind.name)","sha256":""#.utf8)
    line.reserveCapacity(line.count + prefix.count + bytes.count + 256)
    line += sha256.hexadecimal.utf8
    line.append(UInt8(ascii: "\""))
    func add(_ name: String, _ value: String?) {
      guard let value else { return }
      line += ",\"\(name)\":".utf8
      line += value.quotedAsJSON.utf8
    }
    add("account", account?.description)
    if account != nil, !isExplicit { add("intent", "refresh") }
    add("productId", context.productID)
    add("purchaseToken", context.purchaseToken)
    add("packageName", context.packageName)
    add("purchaseDate", context.purchaseDate.map(String.init))
    add("environment", context.environment.flatMap { $0.code == nil ? nil : $0.rawValue })
    if isPlain(prefix), isPlain(bytes) {
      // A JWS and base64, which nearly all evidence is, need no escapes.
      line += #","evidence":""#.utf8
      line += prefix
      line += bytes
      line.append(UInt8(ascii: "\""))
    } else {
      let bytes = prefix + bytes
      // Text stays readable; other bytes would not come back as they are.
      let isText = !bytes.contains { $0 < 0x20 && $0 != 0x0a }
      if isText, let text = String(validating: bytes, as: UTF8.self) {
        add("evidence", text)
      } else {
        add("encoding", "base64")
        add("evidence", String(decoding: Base64.encode(bytes), as: UTF8.self))
      }
    }
    line.append(UInt8(ascii: "}"))
    return line
  }

  private static func isPlain(_ bytes: [UInt8]) -> Bool {
    !bytes.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 >= 0x7f }
  }

  static func account(_ line: Account, at time: Int64) -> [UInt8] {
    var members: [JSONValue.Member]
    switch line {
    case .opened(let account, let token):
      members = [
        .init("spool", .string(opened)), .init("account", .string(account.description)),
        .init("token", .string(token.description)),
      ]
    case .erased(let account):
      members = [.init("spool", .string(erased)), .init("account", .string(account.description))]
    case .act: members = [.init("spool", .string(actName))]
    case .credential(let credential):
      members = [
        .init("spool", .string(Self.credential)), .init("account", .string(credential.account.description)),
        .init("login", .string(credential.login)), .init("salt", .string(credential.salt.hexadecimal)),
        .init("hash", .string(credential.hash.hexadecimal)), .init("rounds", .init(credential.rounds)),
        .init("blockSize", .init(credential.blockSize)), .init("parallelism", .init(credential.parallelism)),
        .init("changedAt", .init(credential.changedAt)),
      ]
    }
    if case .act(let act) = line { members += Self.members(act) }
    members.append(.init("time", .init(time)))
    return JSONValue.object(members).bytes
  }

  // MARK: Reading

  /// A line about an account; nil for any other line.
  ///
  /// - Throws: `VerificationError` for a line about an account that is damaged or of a kind that is not known.
  package static func account(_ bytes: [UInt8]) throws(VerificationError) -> Account? {
    guard bytes.starts(with: mark) else { return nil }
    let value: JSONValue
    do { value = try JSONReader.read(bytes) } catch {
      throw VerificationError(.malformed, "the line about an account is damaged")
    }
    func text(_ name: String) -> String? { if case .string(let text)? = value[name] { text } else { nil } }
    func number(_ name: String) -> Int64? {
      if case .number(let digits)? = value[name] { Int64(digits) } else { nil }
    }
    if text("spool") == actName, let act = Self.act(value) { return .act(act) }
    if let account = text("account").flatMap({ AccountID($0) }) {
      switch text("spool") {
      case opened: if let token = text("token").flatMap({ AccountToken($0) }) { return .opened(account, token: token) }
      case erased: return .erased(account)
      case credential:
        if let login = text("login"), !login.isEmpty, let salt = text("salt").flatMap(Hexadecimal.bytes),
          let hash = text("hash").flatMap(Hexadecimal.bytes), let rounds = number("rounds"),
          let blockSize = number("blockSize"), let parallelism = number("parallelism"),
          let changedAt = number("changedAt"), salt.count == 16, hash.count == 32,
          // A hash of unlimited cost would stop every sign-in.
          (2...1 << 20).contains(rounds), (1...32).contains(blockSize), (1...16).contains(parallelism)
        {
          return .credential(
            Credential(
              account: account, login: login, salt: salt, hash: hash, rounds: rounds, blockSize: blockSize,
              parallelism: parallelism, changedAt: changedAt))
        }
      default: break
      }
    }
    throw VerificationError(.malformed, "the line about an account is damaged, or of a newer version")
  }

  private static func members(_ act: Act) -> [JSONValue.Member] {
    func text(_ name: String, _ value: String?) -> [JSONValue.Member] { value.map { [.init(name, .string($0))] } ?? [] }
    var members = text("action", act.action.rawValue)
    if let key = act.transaction {
      members += text("store", key.store.rawValue) + text("environment", key.environment.rawValue)
      members += text("transactionId", key.id)
    }
    members += text("account", act.account?.description) + text("other", act.other?.description)
    members += text("subject", act.subject)
    members.append(.init("date", .init(act.date)))
    if let until = act.until { members.append(.init("until", .init(until))) }
    return members + text("reason", act.reason) + text("author", act.author) + text("nonce", act.nonce.description)
  }

  private static func act(_ value: JSONValue) -> Act? {
    func id(_ name: String) -> AccountID? { value[name]?.string.flatMap { AccountID($0) } }
    guard let action = value["action"]?.string, let date = value["date"]?.integer,
      let reason = value["reason"]?.string, let author = value["author"]?.string, let nonce = id("nonce")
    else { return nil }
    var key: TransactionKey?
    if let id = value["transactionId"]?.string {
      guard let store = value["store"]?.string.flatMap(Store.init), let environment = value["environment"]?.string
      else {
        return nil
      }
      key = TransactionKey(store: store, environment: StoreEnvironment(storeText: environment), id: id)
    }
    return Act(
      Act.Action(rawValue: action), transaction: key, account: id("account"), other: id("other"),
      subject: value["subject"]?.string, date: date, until: value["until"]?.integer, reason: reason, author: author,
      nonce: nonce)
  }

  /// Whether a line has the login and password of one of these accounts.
  static func isCredential(_ line: ArraySlice<UInt8>, of accounts: Set<AccountID>) -> Bool {
    guard line.starts(with: mark), case .credential(let found)? = try? account(Array(line)) else { return false }
    return accounts.contains(found.account)
  }
}

extension Submission.Channel {
  /// The name in a line of the spool.
  var name: String {
    switch self {
    case .operatorImport: "import"
    case .app: "app"
    case .storeNotification: "notification"
    }
  }

  init?(name: String) {
    switch name {
    case "import": self = .operatorImport
    case "app": self = .app
    case "notification": self = .storeNotification
    default: return nil
    }
  }
}
