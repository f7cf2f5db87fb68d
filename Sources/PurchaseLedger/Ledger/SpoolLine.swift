import Support

/// A line of the spool, of `export --evidence` and of what `merge` reads (docs/reference/ledger-schema.md, The spool).
/// A line of evidence is a wrapper as `import` reads it; a line about an account begins with the member `spool`.
package enum SpoolLine {
  /// A line about an account.
  package enum Account: Sendable, Hashable {
    case opened(AccountID, token: AccountToken)
    case erased(AccountID)
    case credential(Credential)
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
  }

  private static let opened = "account-opened"
  private static let erased = "account-erased"
  private static let credential = "credential"
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
    case .credential(let credential):
      members = [
        .init("spool", .string(Self.credential)), .init("account", .string(credential.account.description)),
        .init("login", .string(credential.login)), .init("salt", .string(credential.salt.hexadecimal)),
        .init("hash", .string(credential.hash.hexadecimal)), .init("rounds", .init(credential.rounds)),
        .init("blockSize", .init(credential.blockSize)), .init("parallelism", .init(credential.parallelism)),
        .init("changedAt", .init(credential.changedAt)),
      ]
    }
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

/// Writes what one transaction submits to the spool. Nothing where there is no spool.
struct SpoolWriter {
  private let file: EvidenceSpool?
  private let path: String
  private let now: Int64
  private var erased: Set<AccountID> = []

  init(path: String?, now: Int64) {
    file = path.map { EvidenceSpool(path: $0) }
    self.path = path ?? ""
    self.now = now
  }

  /// - Parameter isExplicit: What the claim was recorded as.
  func append(_ piece: PreparedEvidence, kind: EvidenceKind, isExplicit: Bool = true) throws {
    guard let file else { return }
    let submission = piece.submission
    try file.append(
      SpoolLine.evidence(
        piece.rest, after: piece.prefix, sha256: piece.sha256, kind: submission.kind ?? kind,
        context: submission.context,
        account: submission.account, isExplicit: isExplicit, channel: submission.channel,
        at: submission.merged?.time ?? now))
  }

  func append(
    _ row: EvidenceRow, kind: EvidenceKind, context: EvidenceContext, for account: AccountID
  ) throws {
    try file?.append(
      SpoolLine.evidence(
        row.rest, after: row.prefix, sha256: row.sha256, kind: kind, context: context, account: account,
        isExplicit: false, channel: .operatorImport, at: now))
  }

  /// Adds what an event says of an account; other events follow from evidence.
  mutating func append(_ content: EventContent) throws {
    switch content {
    case .accountOpened(let account, let token): try append(.opened(account, token: token))
    case .accountErased(let account):
      try append(.erased(account))
      erased.insert(account)
    default: break
    }
  }

  func append(_ line: SpoolLine.Account) throws { try file?.append(SpoolLine.account(line, at: now)) }

  /// Has everything on the disk when it returns, and no login of an account that was erased.
  mutating func finish() throws {
    guard let file else { return }
    try file.finish()
    guard !erased.isEmpty else { return }
    try EvidenceSpool.rewrite(path) { [erased] in SpoolLine.isCredential($0, of: erased) }
  }

  func abandon() { file?.abandon() }
}

extension EvidenceRecorder {
  /// Puts the account's present login and password into the spool.
  package func spoolCredential(of account: AccountRow) throws {
    if let credential = try Ledger.credentials(db, of: account.number).first {
      try spool.append(.credential(credential))
    }
  }

  /// Puts stored evidence into the spool for an account: the store's answer about a purchase that the account knows by
  /// its bare token alone.
  func spoolStored(_ sha256: [UInt8], of fact: StoreTransaction, for account: AccountID) throws {
    let select = try db.cached(EvidenceRow.select)
    select.bind(1, sha256)
    guard let row = try select.first({ EvidenceRow($0) }),
      let kind = EvidenceKind(rawValue: UInt8(truncatingIfNeeded: row.kind))
    else { return }
    let context = EvidenceContext(
      productID: fact.productID, purchaseToken: fact.purchaseToken, environment: fact.environment)
    try spool.append(row, kind: kind, context: context, for: account)
  }

  /// Deletes an account's login, password and sessions.
  package func deletePersonalData(of account: AccountRow) throws {
    for table in ["credential", "session"] {
      let delete = try db.cached("DELETE FROM \(table) WHERE account = ?")
      delete.bind(1, account.number)
      try delete.run()
    }
  }
}

extension Ledger {
  /// The logins and passwords of open accounts, of one or of all.
  static func credentials(_ db: SQLiteConnection, of account: Int64? = nil) throws -> [SpoolLine.Credential] {
    let select = try db.cached(
      """
      SELECT a.id, c.login, c.salt, c.hash, c.rounds, c.block_size, c.parallelism, c.changed_at
      FROM credential AS c JOIN account AS a ON a.number = c.account WHERE ?1 IS NULL OR c.account = ?1
      ORDER BY c.account
      """)
    select.bind(1, account)
    return try select.all { row in
      row.uuid(0).map {
        SpoolLine.Credential(
          account: AccountID($0), login: row.text(1), salt: row.blob(2), hash: row.blob(3), rounds: row.int64(4),
          blockSize: row.int64(5), parallelism: row.int64(6), changedAt: row.int64(7))
      }
    }.compactMap { $0 }
  }
}
