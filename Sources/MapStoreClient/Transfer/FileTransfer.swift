import MapStoreWire
import Support
import TileIndex

/// Brings one file from the server to the disk, whatever happens on the way.
///
/// 1. Pieces that an earlier attempt has noted are read and compared with their checksums; those that differ are fetched again.
/// 2. What is missing is asked for, range by range. What arrives is written, and noted once it is on the disk.
/// 3. An attempt that ends early is repeated after a while, and goes on from what is there. Attempts that bring nothing are counted.
///    The server's name for the bytes (`ETag`) may change with the server: then a new ticket says whether the file is still the one, and the rest goes without names.
/// 4. The whole file is compared with its SHA-256. Where it is not the one, all of it is fetched once more, without ranges.
struct FileTransfer: Sendable {
  let client: StoreClient
  let state: ShelfState
  let download: Download
  let path: String
  let options: ShelfOptions
  /// An address to load from; a new one each time.
  let newTicket: @Sendable () async throws -> DownloadTicket
  let report: @Sendable (InstallProgress.Phase, _ bytesDone: Int, _ complaint: String?) -> Void

  var wanted: WantedFile { download.wanted }

  /// - Throws: ``TransferFault/changed`` when the server has another file by now; ``MapStoreError``; `CancellationError`. What was received stays, but for `.damaged`.
  func run() async throws {
    let file = try PartFile(path)
    var asksForRanges = true
    for isLast in [false, true] {
      try await receiveAll(into: file, asksForRanges: &asksForRanges)
      options.onStep(.received)
      report(.verifying, wanted.bytes, nil)
      let (path, bytes) = (path, wanted.bytes)
      let found = try await Blocking.run {
        // An earlier file of this name could have been longer.
        try file.truncate(to: bytes)
        try file.synchronise()
        return try FileDigest.sha256(path)
      }
      if found == wanted.sha256 {
        options.onStep(.verified)
        return
      }
      try state.forget(try state.pieces(of: download), of: download)
      guard !isLast else { break }
      asksForRanges = false
      report(.retrying, 0, "what came is not the file that the catalogue describes")
    }
    throw MapStoreError(
      .damaged, wanted.part.description, "the server's file is not the one that its catalogue describes, twice",
      remedy: "try again later; the shop has to repair it")
  }

  private func receiveAll(into file: PartFile, asksForRanges: inout Bool) async throws {
    if try !state.pieces(of: download).isEmpty { report(.checking, 0, nil) }
    try await dropDamagedPieces()
    var missing = try missing()
    var ticket: DownloadTicket?
    var etag = download.entityTag
    var failures = 0
    var wrongAnswers = 0
    var renewals = 0
    var looksAtTags = true
    while !missing.isEmpty {
      try Task.checkCancellation()
      report(.downloading, wanted.bytes - missing.byteCount, nil)
      let complaint: String
      var asked: Double?
      var isLie = false
      do {
        if ticket.map({ $0.expiresAt <= options.clock.now() }) ?? true { ticket = try await validTicket() }
        var attempt = TransferAttempt(transfer: self, file: file, missing: missing, etag: etag)
        attempt.looksAtTags = looksAtTags
        defer { etag = attempt.etag }
        try await attempt.run(url: client.absolute(ticket!.url), asksForRange: asksForRanges)
        complaint = "the answer ended early"
      } catch let fault as TransferFault {
        switch fault {
        case .changed: throw fault
        case .otherTag:
          (etag, ticket, looksAtTags) = (nil, nil, false)
          try state.setEntityTag(nil, of: download)
          continue
        case .busy(let text, let retryAfter):
          try await wait(text, asked: retryAfter, done: wanted.bytes - missing.byteCount)
          continue
        case .linkOver(let status):
          ticket = nil
          renewals += 1
          complaint = "the server answered \(status) to its own address"
          guard renewals <= 2 else { throw linkRefused(complaint) }
          continue
        case .wrongAnswer(let text):
          wrongAnswers += 1
          // Some proxies cannot do ranges.
          if wrongAnswers >= 2 { asksForRanges = false }
          (complaint, isLie) = (text, true)
        case .interrupted(let text, let retryAfter): (complaint, asked) = (text, retryAfter)
        case .refused(let status):
          throw MapStoreError(.refused, wanted.part.description, "the server answered \(status) to the download")
        }
      }
      let rest = try self.missing()
      if rest.byteCount < missing.byteCount { (failures, renewals) = (0, 0) }
      missing = rest
      if missing.isEmpty { return }
      failures += 1
      try await wait(after: failures, complaint, isLie: isLie, asked: asked, done: wanted.bytes - missing.byteCount)
    }
  }

  /// Waits for as long as the server has asked for.
  private func wait(_ complaint: String, asked: Double, done: Int) async throws {
    try checkWait(asked, complaint)
    report(.waiting, done, complaint)
    try await Task.sleep(for: .seconds(options.retry.delay(1, asked: asked)))
  }

  private func checkWait(_ asked: Double?, _ complaint: String) throws {
    guard let asked, asked > options.retry.retryAfterMax else { return }
    throw MapStoreError(
      .unreachable, wanted.part.description, complaint, remedy: "go on in \(Int(asked)) s: what was loaded stays")
  }

  /// - Parameter isLie: the last answer came whole, and was none to the question.
  private func wait(after failures: Int, _ complaint: String, isLie: Bool, asked: Double?, done: Int) async throws {
    let name = wanted.part.description
    try checkWait(asked, complaint)
    guard failures < options.retry.attemptsMax else {
      throw MapStoreError(
        isLie ? .damaged : .unreachable, name,
        "gave up after \(failures) attempts that brought nothing: \(complaint)",
        remedy: "go on later: what was loaded stays")
    }
    report(.retrying, done, complaint)
    try await Task.sleep(for: .seconds(options.retry.delay(failures, asked: asked)))
  }

  private func linkRefused(_ complaint: String) -> MapStoreError {
    MapStoreError(
      .refused, wanted.part.description, complaint, remedy: "check that the region is still owned, then try again")
  }

  /// - Throws: ``TransferFault/changed`` when it is for another file.
  private func validTicket() async throws -> DownloadTicket {
    let ticket = try await newTicket()
    guard ticket.sha256 == wanted.sha256, ticket.bytes == wanted.bytes else { throw TransferFault.changed }
    return ticket
  }

  /// What is not noted as being on the disk.
  private func missing() throws -> ByteIntervals {
    var missing = ByteIntervals(0..<wanted.bytes)
    for piece in try state.pieces(of: download) { missing.subtract(piece.range) }
    return missing
  }

  private func dropDamagedPieces() async throws {
    let (state, download, path) = (state, download, path)
    try await Blocking.run {
      let pieces = try state.pieces(of: download)
      guard !pieces.isEmpty else { return }
      let file = try ReadOnlyFile(path)
      let damaged = try pieces.filter { try FileDigest.sha256(file, $0.range) != $0.sha256 }
      try state.forget(damaged, of: download)
    }
  }
}
