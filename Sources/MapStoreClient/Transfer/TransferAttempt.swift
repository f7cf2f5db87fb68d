import MapStoreWire
import Support
import TileIndex

/// A download and where its bytes go: what all attempts of a ``FileTransfer`` share.
struct TransferContext: Sendable {
  let client: StoreClient
  let state: RegionDatabase
  let download: Download
  /// The part file.
  let path: String
  let options: OfflineRegionOptions
  let transport: any FileTransport
  let budget: TransferBudget
  let report: @Sendable (InstallProgress.Phase, _ bytesDone: Int, _ complaint: String?) -> Void

  var wanted: WantedFile { download.wanted }
}

/// One request for the missing bytes of a file, and what came of it.
struct TransferAttempt {
  let transfer: TransferContext
  let file: PartFile
  let missing: ByteIntervals
  /// The entity tag of the file; another one later means other bytes.
  var etag: String?
  /// False if the server's tags change without the file.
  var looksAtTags = true

  /// Receives until the end of the answer.
  ///
  /// - Throws: ``TransferFault``; `CancellationError`; ``MapStoreError`` for the disk. What arrived is recorded in any
  ///   case.
  mutating func run(url: String, asksForRange: Bool) async throws {
    guard let wanted = missing.ranges.first else { return }
    let isWhole = wanted == 0..<transfer.wanted.bytes
    var fields = [(name: "Accept-Encoding", value: "identity")]
    if asksForRange, !isWhole {
      fields.append(("Range", ByteRange.field(wanted)))
      // If the file has changed, the answer is the whole new one, with another tag.
      if let etag { fields.append(("If-Range", etag)) }
    }
    let policy = transfer.options.transfers.policy
    let range = asksForRange ? wanted : 0..<transfer.wanted.bytes
    let request = FileRequest(
      url: url, fields: fields, key: "\(transfer.wanted.sha256)-\(range.lowerBound)-\(range.upperBound)",
      usesMetered: policy.usesMetered, usesConstrained: policy.usesConstrained)
    let answer: FileAnswer
    do {
      let (report, done) = (transfer.report, transfer.wanted.bytes - missing.byteCount)
      answer = try await transfer.transport.get(request) { report(.downloading, done + $0, nil) }
    } catch {
      try Task.checkCancellation()
      throw Self.fault(error)
    }
    let first = try start(of: answer)
    let (attempt, deadline) = (self, Deadline(after: transfer.client.retry.idleMax))
    do {
      try await deadline.run { try await attempt.receive(answer.body, from: first, until: deadline) }
    } catch is Deadline.Passed {
      throw TransferFault.interrupted("the server sends next to nothing")
    }
  }

  /// The offset of the answer's first byte in the file.
  private mutating func start(of answer: FileAnswer) throws -> Int {
    let status = answer.status
    switch status {
    case 200, 206: break
    case 300..<400:
      throw TransferFault.interrupted("the answer is a redirect (\(status)), as networks send it before a sign-in")
    case 401, 403, 404, 410: throw TransferFault.linkOver(status: status)
    case 409, 412, 416: throw TransferFault.otherFile("the server answered \(status)")
    case 408, 425, 429, 500...:
      let asked = answer.field("Retry-After").flatMap {
        RetryAfter.seconds($0, now: transfer.options.clock.now())
      }
      if status == 429, let asked { throw TransferFault.busy("the server answered \(status)", retryAfter: asked) }
      throw TransferFault.interrupted("the server answered \(status)", retryAfter: asked)
    default: throw TransferFault.refused(status: status)
    }
    if let encoding = answer.field("Content-Encoding"), encoding.lowercased() != "identity" {
      throw TransferFault.wrongAnswer("the answer has a content coding that was not requested")
    }
    // The pages of networks that ask for a sign-in first. No file of a catalogue has such a type.
    let type = answer.field("Content-Type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
    guard type != "text/html", type != "application/xhtml+xml" else {
      throw TransferFault.interrupted("the answer is a web page, as networks send it before a sign-in")
    }
    try checkTag(answer.field("ETag"))
    let length = answer.field("Content-Length").flatMap { Int($0) }
    guard status == 206 else {
      if let length, length != transfer.wanted.bytes {
        throw TransferFault.otherFile("the answer has \(length) bytes, and the file \(transfer.wanted.bytes)")
      }
      return 0
    }
    guard let field = answer.field("Content-Range"), let content = ContentRange(field) else {
      throw TransferFault.wrongAnswer("the answer is a part, but does not say which")
    }
    if let total = content.total, total != transfer.wanted.bytes {
      throw TransferFault.otherFile("the answer is of a file of \(total) bytes, not \(transfer.wanted.bytes)")
    }
    guard content.range.upperBound <= transfer.wanted.bytes, length ?? content.range.count == content.range.count else {
      throw TransferFault.wrongAnswer("the answer's length and range do not match the file: \(field)")
    }
    guard !missing.intersection(content.range).isEmpty else {
      throw TransferFault.wrongAnswer("the answer is not the requested range: \(field)")
    }
    return content.range.lowerBound
  }

  private mutating func checkTag(_ tag: String?) throws {
    // Weak tags do not identify bytes.
    guard looksAtTags, let tag, !tag.hasPrefix("W/"), Self.isTag(tag) else { return }
    // The tag of our server is the file's SHA-256.
    let text = tag.filter { $0 != "\"" }
    if text.utf8.count == 64,
      text.utf8.allSatisfy({
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }),
      text != transfer.wanted.sha256
    {
      throw TransferFault.otherFile("the answer is of a file with another SHA-256")
    }
    if let etag, etag != tag { throw TransferFault.otherTag }
    guard etag == nil else { return }
    etag = tag
    try transfer.state.setEntityTag(tag, of: transfer.download)
  }

  /// An `ETag` (RFC 9110, section 8.8.3) of reasonable length; others are ignored.
  private static func isTag(_ text: String) -> Bool {
    guard (2...512).contains(text.utf8.count), text.hasPrefix("\""), text.hasSuffix("\"") else { return false }
    return text.utf8.dropFirst().dropLast().allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }
  }

  /// - Parameter deadline: is moved on by progress, and by the rests that the largest rate requires.
  private func receive(
    _ body: some AsyncSequence<[UInt8], any Error>, from start: Int, until deadline: Deadline
  ) async throws {
    var writer = PieceWriter(
      file: file, state: transfer.state, download: transfer.download, pieceBytes: transfer.options.pieceBytes,
      onStep: transfer.options.onStep)
    var offset = start
    var done = transfer.wanted.bytes - missing.byteCount
    let retry = transfer.client.retry
    var progress = 0
    do {
      for try await buffer in body {
        try Task.checkCancellation()
        progress += buffer.count
        if progress >= retry.progressBytesMin {
          progress = 0
          deadline.restart(retry.idleMax)
        }
        let bytes = offset..<(offset + buffer.count)
        for range in missing.intersection(bytes) {
          if let position = writer.position, position != range.lowerBound { try await writer.close() }
          try buffer.withUnsafeBytes { all in
            let slice = UnsafeRawBufferPointer(rebasing: all[(range.lowerBound - offset)..<(range.upperBound - offset)])
            try writer.write(slice, at: range.lowerBound)
          }
          done += range.count
          if writer.isFull {
            try await writer.close()
            try transfer.budget.store()
          }
        }
        offset = bytes.upperBound
        transfer.report(.downloading, done, nil)
        try transfer.budget.take(buffer.count, for: transfer.wanted.part)
        if transfer.options.transfers.complaint != nil { throw TransferFault.held }
        if let rate = transfer.options.bytesPerSecondMax {
          // Nothing is read meanwhile, so TCP slows down the sender.
          let seconds = Double(buffer.count) / Double(max(rate, 1))
          deadline.extend(by: seconds)
          try await Task.sleep(for: .seconds(seconds))
        }
        // The rest is not needed; leaving the loop closes the connection.
        if offset >= (missing.ranges.last?.upperBound ?? 0) { break }
      }
    } catch {
      try await writer.close()
      try transfer.budget.store()
      if let error = error as? FileSystem.SystemError { throw diskFailure(error) }
      if error is MapStoreError || error is TransferFault { throw error }
      try Task.checkCancellation()
      throw Self.fault(error)
    }
    try await writer.close()
    try transfer.budget.store()
  }

  /// What an error of a transport means: ``ConnectionFault``, or whatever an app's own transport throws.
  private static func fault(_ error: any Error) -> TransferFault {
    if let fault = error as? ConnectionFault, fault.kind == .notHTTP { return .wrongAnswer(fault.description) }
    if error is Deadline.Passed { return .interrupted("the server has begun no answer") }
    return .interrupted("\(error)")
  }

  private func diskFailure(_ error: FileSystem.SystemError) -> MapStoreError {
    error.isDiskFull
      ? MapStoreError(
        .noSpace, transfer.path, "the disk is full", remedy: "free space, then continue: what was downloaded is kept")
      : MapStoreError(.storage, transfer.path, "cannot be written: \(error)", remedy: "check the disk")
  }
}

/// Why an attempt ended before the end of the file.
enum TransferFault: Error {
  /// The server has another file by now, as its ticket says.
  case changed
  /// The answer does not belong to the file. It may be another one by now, or the answer may be somebody else's, such
  /// as a network's page for signing in: a new ticket tells.
  case otherFile(String)
  /// The entity tag has changed: the file may still be the same, on a mirror or a new installation of the server.
  case otherTag
  /// The account has too many downloads; the server says after how many seconds to come back. Not a failure: other
  /// downloads of the account continue meanwhile.
  case busy(String, retryAfter: Double)
  /// The network has changed to one that the policy excludes.
  case held
  /// The URL is not valid any more: a new ticket is needed.
  case linkOver(status: Int)
  /// The answer does not fit the request: a wrong range, or an encoding that was not requested.
  case wrongAnswer(String)
  /// To be repeated; after so many seconds, if the server said so.
  case interrupted(String, retryAfter: Double? = nil)
  /// Repeating does not help.
  case refused(status: Int)
}
