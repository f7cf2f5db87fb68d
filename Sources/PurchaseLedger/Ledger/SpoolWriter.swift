import Support

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
    case .act(let act): try append(SpoolLine.Account.act(act))
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
