import MapStoreWire
import Support
import TileIndex

/// Downloads one file, through interruptions of the network, the server and the process.
///
/// 1. Pieces that an earlier attempt has recorded are read and compared with their checksums; damaged ones are fetched
///    again.
/// 2. Missing ranges are requested one by one. What arrives is written, and recorded once it is on the disk.
/// 3. An attempt that ends early is repeated after a delay, and continues with what is missing. Attempts that bring
///    next to nothing are counted. If an answer does not belong to the file, or its entity tag changes, a new ticket
///    says whether the file is still the same: only another SHA-256 discards what was received.
/// 4. The whole file is compared with its SHA-256. If it differs, all of it is fetched once more, without ranges.
struct FileTransfer: Sendable {
  let context: TransferContext
  /// Requests a new URL.
  let newTicket: @Sendable (_ waits: @escaping WaitHandler) async throws -> DownloadTicket

  private var wanted: WantedFile { context.wanted }
  private var state: RegionDatabase { context.state }
  private var download: Download { context.download }
  private var options: OfflineRegionOptions { context.options }

  /// - Throws: ``TransferFault/changed`` if the server's ticket is for another file; ``MapStoreError``;
  ///   `CancellationError`.
  ///   What was received stays, except after `.damaged`.
  func run() async throws {
    let file = try PartFile(context.path)
    var asksForRanges = true
    for isLast in [false, true] {
      try await receiveAll(into: file, asksForRanges: &asksForRanges)
      options.onStep(.received)
      context.report(.verifying, wanted.bytes, nil)
      let (path, bytes) = (context.path, wanted.bytes)
      let found = try await Blocking.run {
        // A file of an earlier download may have been longer.
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
      context.report(.retrying, 0, "the received file is not the one that the catalogue describes")
    }
    throw MapStoreError(
      .damaged, wanted.part.description, "the server's file is not the one that its catalogue describes, twice",
      remedy: "try again later; the publisher has to repair it")
  }

  private func receiveAll(into file: PartFile, asksForRanges: inout Bool) async throws {
    if try !state.pieces(of: download).isEmpty { context.report(.checking, 0, nil) }
    try await dropDamagedPieces()
    var missing = try missing()
    // What was missing when the last failures were forgotten.
    var mark = missing.byteCount
    var ticket: DownloadTicket?
    var etag = download.entityTag
    var failures = 0
    var wrongAnswers = 0
    var renewals = 0
    var rests = 0
    var looksAtTags = true
    while !missing.isEmpty {
      try Task.checkCancellation()
      try await options.transfers.admit { context.report(.waiting, wanted.bytes - missing.byteCount, $0) }
      context.report(.downloading, wanted.bytes - missing.byteCount, nil)
      let complaint: String
      var asked: Double?
      var isLie = false
      do {
        if ticket.map({ $0.expiresAt <= options.clock.now() }) ?? true {
          ticket = try await validTicket(done: wanted.bytes - missing.byteCount)
        }
        var attempt = TransferAttempt(transfer: context, file: file, missing: missing, etag: etag)
        attempt.looksAtTags = looksAtTags
        defer { etag = attempt.etag }
        try await attempt.run(url: context.client.absolute(ticket!.url), asksForRange: asksForRanges)
        complaint = "the answer ended early"
      } catch let fault as TransferFault {
        switch fault {
        case .changed: throw fault
        case .otherTag:
          (etag, ticket, looksAtTags) = (nil, nil, false)
          try state.setEntityTag(nil, of: download)
          continue
        case .held:
          missing = try self.missing()
          continue
        case .busy(let text, let retryAfter):
          rests += 1
          try await wait(text, asked: retryAfter, rests, done: wanted.bytes - missing.byteCount)
          continue
        case .linkOver(let status):
          ticket = nil
          renewals += 1
          complaint = "the server answered \(status) to its own download URL"
          guard renewals <= 2 else { throw linkRefused(complaint) }
          continue
        case .otherFile(let text): (ticket, complaint, isLie) = (nil, text, true)
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
      if rest.byteCount < missing.byteCount { renewals = 0 }
      if mark - rest.byteCount >= options.retry.progressBytesMin { (failures, rests, mark) = (0, 0, rest.byteCount) }
      missing = rest
      if missing.isEmpty { return }
      failures += 1
      try await wait(after: failures, complaint, isLie: isLie, asked: asked, done: wanted.bytes - missing.byteCount)
    }
  }

  /// Waits as long as the server has asked for, and each time longer, so that no server keeps the device awake.
  private func wait(_ complaint: String, asked: Double, _ number: Int, done: Int) async throws {
    try checkWait(asked, complaint)
    context.report(.waiting, done, complaint)
    try await Task.sleep(for: .seconds(options.retry.delay(number, asked: asked)))
  }

  private func checkWait(_ asked: Double?, _ complaint: String) throws {
    guard let asked, asked > options.retry.retryAfterMax else { return }
    throw MapStoreError(
      .unreachable, wanted.part.description, complaint,
      remedy: "continue in \(Int(asked)) s: what was downloaded is kept")
  }

  /// - Parameter isLie: the last answer was complete, but did not fit the request.
  private func wait(after failures: Int, _ complaint: String, isLie: Bool, asked: Double?, done: Int) async throws {
    let name = wanted.part.description
    try checkWait(asked, complaint)
    guard failures < options.retry.attemptsMax else {
      throw MapStoreError(
        isLie ? .damaged : .unreachable, name,
        "gave up after \(failures) attempts without progress: \(complaint)",
        remedy: "continue later: what was downloaded is kept")
    }
    context.report(.retrying, done, complaint)
    try await Task.sleep(for: .seconds(options.retry.delay(failures, asked: asked)))
  }

  private func linkRefused(_ complaint: String) -> MapStoreError {
    MapStoreError(
      .refused, wanted.part.description, complaint, remedy: "check that the region is still owned, then try again")
  }

  /// - Throws: ``TransferFault/changed`` if the ticket is for another file.
  private func validTicket(done: Int) async throws -> DownloadTicket {
    let ticket = try await newTicket { [context] in context.report(.waiting, done, $0) }
    guard ticket.sha256 == wanted.sha256, ticket.bytes == wanted.bytes else { throw TransferFault.changed }
    return ticket
  }

  /// The bytes that are not recorded as being on the disk.
  private func missing() throws -> ByteIntervals {
    var missing = ByteIntervals(0..<wanted.bytes)
    for piece in try state.pieces(of: download) { missing.subtract(piece.range) }
    return missing
  }

  private func dropDamagedPieces() async throws {
    let (state, download, path) = (state, download, context.path)
    try await Blocking.run {
      let pieces = try state.pieces(of: download)
      guard !pieces.isEmpty else { return }
      let file = try ReadOnlyFile(path)
      let damaged = try pieces.filter { try FileDigest.sha256(file, $0.range) != $0.sha256 }
      try state.forget(damaged, of: download)
    }
  }
}
