import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Support
import TileIndex

/// One request for what is missing of a file, and what came of it.
struct TransferAttempt {
  let transfer: FileTransfer
  let file: PartFile
  let missing: ByteIntervals
  /// The server's name for these bytes; another one later means other bytes.
  var etag: String?
  /// False where tags change without the file.
  var looksAtTags = true

  /// Receives until the answer ends.
  ///
  /// - Throws: ``TransferFault``; `CancellationError`; ``MapStoreError`` for the disk. What arrived is noted in any case.
  mutating func run(url: String, asksForRange: Bool) async throws {
    guard let wanted = missing.ranges.first else { return }
    let isWhole = wanted == 0..<transfer.wanted.bytes
    var request = HTTPClientRequest(url: url)
    request.headers.add(name: "Accept-Encoding", value: "identity")
    if asksForRange, !isWhole {
      request.headers.add(name: "Range", value: "bytes=\(wanted.lowerBound)-\(wanted.upperBound - 1)")
      // Should the file be another by now, all of it comes instead, and is recognised by its tag.
      if let etag { request.headers.add(name: "If-Range", value: etag) }
    }
    let response: HTTPClientResponse
    do {
      response = try await transfer.client.http.execute(request, deadline: .distantFuture)
    } catch let error as HTTPParserError where error != .invalidEOFState {
      throw TransferFault.wrongAnswer("the answer is no HTTP")
    } catch {
      try Task.checkCancellation()
      throw TransferFault.interrupted(StoreClient.text(error), retryAfter: nil)
    }
    try await receive(response.body, from: try start(of: response))
  }

  /// Where the answer's first byte belongs.
  private mutating func start(of response: HTTPClientResponse) throws -> Int {
    let headers = response.headers
    let status = Int(response.status.code)
    switch status {
    case 200, 206: break
    case 401, 403, 404, 410: throw TransferFault.linkOver(status: status)
    case 409, 412, 416: throw TransferFault.changed
    case 408, 425, 429, 500...:
      let asked = headers.first(name: "Retry-After").flatMap {
        RetryAfter.seconds($0, now: transfer.options.clock.now())
      }
      if status == 429, let asked { throw TransferFault.busy("the server answered \(status)", retryAfter: asked) }
      throw TransferFault.interrupted("the server answered \(status)", retryAfter: asked)
    default: throw TransferFault.refused(status: status)
    }
    if let encoding = headers.first(name: "Content-Encoding"), encoding.lowercased() != "identity" {
      throw TransferFault.wrongAnswer("the answer is encoded, which was not asked for")
    }
    try checkTag(headers.first(name: "ETag"))
    let length = headers.first(name: "Content-Length").flatMap { Int($0) }
    guard status == 206 else {
      if let length, length != transfer.wanted.bytes { throw TransferFault.changed }
      return 0
    }
    guard let field = headers.first(name: "Content-Range"), let answer = ContentRange(field) else {
      throw TransferFault.wrongAnswer("the answer is a part, but does not say which")
    }
    if let total = answer.total, total != transfer.wanted.bytes { throw TransferFault.changed }
    guard answer.range.upperBound <= transfer.wanted.bytes, length ?? answer.range.count == answer.range.count else {
      throw TransferFault.wrongAnswer("the answer's length and place do not fit the file: \(field)")
    }
    guard !missing.intersection(answer.range).isEmpty else {
      throw TransferFault.wrongAnswer("the answer is another part than was asked for: \(field)")
    }
    return answer.range.lowerBound
  }

  private mutating func checkTag(_ tag: String?) throws {
    // Weak tags say nothing about bytes.
    guard looksAtTags, let tag, !tag.hasPrefix("W/"), Self.isTag(tag) else { return }
    // Our server's tag is the file's SHA-256.
    let text = tag.filter { $0 != "\"" }
    if text.utf8.count == 64,
      text.utf8.allSatisfy({
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
      }),
      text != transfer.wanted.sha256
    {
      throw TransferFault.changed
    }
    if let etag, etag != tag { throw TransferFault.otherTag }
    guard etag == nil else { return }
    etag = tag
    try transfer.state.setEntityTag(tag, of: transfer.download)
  }

  /// An `ETag` (RFC 9110, section 8.8.3) of a length that is worth keeping; another is as good as none.
  private static func isTag(_ text: String) -> Bool {
    guard (2...512).contains(text.utf8.count), text.hasPrefix("\""), text.hasSuffix("\"") else { return false }
    return text.utf8.dropFirst().dropLast().allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }
  }

  private func receive(_ body: HTTPClientResponse.Body, from start: Int) async throws {
    var writer = PieceWriter(
      file: file, state: transfer.state, download: transfer.download, pieceBytes: transfer.options.pieceBytes,
      onStep: transfer.options.onStep)
    var offset = start
    var done = transfer.wanted.bytes - missing.byteCount
    do {
      for try await buffer in body {
        try Task.checkCancellation()
        let bytes = offset..<(offset + buffer.readableBytes)
        for range in missing.intersection(bytes) {
          if let position = writer.position, position != range.lowerBound { try await writer.close() }
          try buffer.withUnsafeReadableBytes { all in
            let slice = UnsafeRawBufferPointer(rebasing: all[(range.lowerBound - offset)..<(range.upperBound - offset)])
            try writer.write(slice, at: range.lowerBound)
          }
          done += range.count
          if writer.isFull { try await writer.close() }
        }
        offset = bytes.upperBound
        transfer.report(.downloading, done, nil)
        if let rate = transfer.options.bytesPerSecondMax {
          // Nothing is read meanwhile, so the sender has to wait as well.
          try await Task.sleep(for: .seconds(Double(buffer.readableBytes) / Double(rate)))
        }
        // What follows is of no use; the connection goes with the rest of the body.
        if offset >= (missing.ranges.last?.upperBound ?? 0) { break }
      }
    } catch {
      try await writer.close()
      if let error = error as? FileSystem.SystemError { throw diskFailure(error) }
      if error is MapStoreError { throw error }
      try Task.checkCancellation()
      throw TransferFault.interrupted(StoreClient.text(error), retryAfter: nil)
    }
    try await writer.close()
  }

  private func diskFailure(_ error: FileSystem.SystemError) -> MapStoreError {
    error.isDiskFull
      ? MapStoreError(
        .noSpace, transfer.path, "the disk is full", remedy: "free space, then go on: what was loaded stays")
      : MapStoreError(.shelf, transfer.path, "cannot be written: \(error)", remedy: "check the disk")
  }
}
