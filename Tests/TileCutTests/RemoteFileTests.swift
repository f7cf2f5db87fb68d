import Foundation
import TestSupport
import Testing

@testable import TileCut

/// Reading files of HTTP servers in ranges.
@Suite(.ownThread) struct RemoteFileTests {
  private static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func cache(_ bytesMax: Int = 4 << 20) -> RemoteCache {
    var limits = RemoteLimits()
    (limits.backoffSeconds, limits.connectSeconds, limits.stallSeconds) = (0.01, 2, 2)
    limits.waitSecondsMax = 0.05
    return RemoteCache(bytesMax: bytesMax, limits: limits)
  }

  private static func open(_ server: RangeServer, _ cache: RemoteCache = cache()) throws -> RemoteSourceFile {
    guard case .file(let file, _) = try RemoteSourceFile.open(server.url, cache: cache) else {
      throw CutError(.unreadableSource, "no ranges")
    }
    return file
  }

  private static func read(_ file: RemoteSourceFile, _ range: Range<Int>) -> [UInt8]? {
    var target = [UInt8](repeating: 0, count: range.count)
    let count = target.withUnsafeMutableBytes {
      file.read(into: $0.baseAddress!, count: range.count, at: range.lowerBound)
    }
    return count.map { Array(target.prefix($0)) }
  }

  private static func refusal(_ server: RangeServer) -> CutError? {
    do {
      let file = try open(server)
      _ = read(file, 0..<file.size)
      return file.failure
    } catch { return error as? CutError }
  }

  /// Random reads, with a cache of all sizes, give the file's bytes.
  @Test(arguments: [1 << 19, 1 << 20, 8 << 20]) func readsEqualTheFile(_ bytesMax: Int) throws {
    let content = Self.bytes(3_000_000)
    let server = try RangeServer { RangeServer.part(content, $0) }
    let cache = Self.cache(bytesMax)
    let file = try Self.open(server, cache)
    #expect(file.size == content.count)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<200 {
      let start = Int.random(in: 0..<content.count, using: &random)
      let range = start..<(start + Int.random(in: 1...150_000, using: &random))
      #expect(Self.read(file, range) == Array(content[range.clamped(to: 0..<content.count)]))
    }
    #expect(Self.read(file, content.count..<content.count + 10) == [])
    #expect(cache.traffic.requests == server.requestCount)
  }

  /// Threads that want the same bytes share the requests.
  @Test func threadsShareRequests() throws {
    let content = Self.bytes(1_000_000)
    let server = try RangeServer { RangeServer.part(content, $0) }
    let cache = Self.cache()
    let file = try Self.open(server, cache)
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for start in stride(from: 0, to: content.count, by: 50_000) {
        #expect(Self.read(file, start..<start + 50_000) == Array(content[start..<start + 50_000]))
      }
    }
    #expect(cache.traffic.bytes == content.count)
    // Small reads one after the other are few requests.
    #expect(server.requestCount <= 12)
  }

  /// What passes is tried again: errors of the server, lost connections, and bodies that end early.
  @Test(arguments: [503, 429, 500, 408]) func transientFailuresAreRepeated(_ status: Int) throws {
    let content = Self.bytes(500_000)
    let server = try RangeServer { request in
      switch request.number % 4 {
      case 1: return RangeServer.Answer(status: status, headers: ["Retry-After": "1"], body: Array("later".utf8))
      case 2:
        var answer = RangeServer.part(content, request)
        answer.cut = answer.body.count / 2
        return answer
      case 3: return RangeServer.Answer(body: [1], cut: 0)
      default: return RangeServer.part(content, request)
      }
    }
    let file = try Self.open(server)
    #expect(Self.read(file, 0..<content.count) == content)
  }

  @Test func failuresEndAfterSomeTries() throws {
    let server = try RangeServer { request in
      request.number == 0 ? RangeServer.part(Self.bytes(100_000), request) : RangeServer.Answer(status: 503)
    }
    let file = try Self.open(server)
    #expect(Self.read(file, 90_000..<90_010) == nil)
    let count = server.requestCount
    #expect(count == 7)
    #expect(file.failure?.code == .unreadableSource && "\(file.failure!)".contains("503"))
    // It is not asked again.
    #expect(Self.read(file, 50_000..<50_010) == nil && server.requestCount == count)
  }

  /// A file that changes is no raster, however the server tells.
  @Test(arguments: ["match", "compare", "weak", "date", "size"]) func changesAreNoticed(_ kind: String) throws {
    let (content, other) = (Self.bytes(200_000), Self.bytes(kind == "size" ? 190_000 : 200_000, seed: 2))
    let server = try RangeServer { request in
      let isNew = request.number > 0
      var request = request
      if kind == "compare" {
        request = RangeServer.Request(
          path: request.path, headers: request.headers.filter { $0.key != "if-match" }, number: request.number)
      }
      let tag = kind == "weak" ? "W/\"\(isNew)\"" : kind == "match" || kind == "compare" ? "\"\(isNew)\"" : nil
      var answer = RangeServer.part(isNew ? other : content, request, etag: tag)
      if kind == "date" {
        answer.headers["Last-Modified"] = isNew ? "Tue, 02 Jan 2024 00:00:00 GMT" : "Mon, 01 Jan 2024 00:00:00 GMT"
      }
      return answer
    }
    let file = try Self.open(server)
    #expect(Self.read(file, 100_000..<100_100) == nil)
    #expect(file.failure?.code == .badSource && "\(file.failure!)".contains("changed"))
  }

  /// Each answer that cannot be used is refused with words that say why.
  @Test(arguments: [
    ("404", "404"), ("403", "signing in"), ("416", "is empty"), ("gzip", "gzip"), ("shifted", "other bytes"),
    ("short", "other bytes"), ("sizeless", "how large"), ("loop", "redirect"), ("file", "not supported"),
    ("endless", "cannot be fetched"), ("ftp", "not supported"),
  ])
  func uselessAnswersAreRefused(_ kind: String, _ words: String) throws {
    let content = Self.bytes(100_000)
    let server = try RangeServer { request in
      var answer = RangeServer.part(content, request)
      switch kind {
      case "404", "403", "416": return RangeServer.Answer(status: Int(kind)!, body: Array("<html>".utf8))
      case "gzip": answer.headers["Content-Encoding"] = "gzip"
      case "shifted": answer.headers["Content-Range"] = "bytes 7-32774/100000"
      case "short": answer.body.removeLast(5)
      case "sizeless": answer.headers["Content-Range"] = "bytes 0-32767/*"
      case "loop": return RangeServer.Answer(status: 302, headers: ["Location": "/again"])
      case "file": return RangeServer.Answer(status: 302, headers: ["Location": "file:///etc/passwd"])
      case "ftp": return RangeServer.Answer(status: 302, headers: ["Location": "ftp://127.0.0.1/x"])
      case "endless": return RangeServer.Answer(status: 500, body: content, isEndless: true)
      default: break
      }
      return answer
    }
    let error = try #require(Self.refusal(server))
    #expect("\(error)".lowercased().contains(words), "\(error)")
    #expect(error.path == server.url && error.remedy != nil)
  }

  @Test func redirectsAreFollowed() throws {
    let content = Self.bytes(300_000)
    let server = try RangeServer { request in
      request.path == "/elsewhere"
        ? RangeServer.part(content, request)
        : RangeServer.Answer(status: 307, headers: ["Location": "/elsewhere", "ETag": "\"of the redirect\""])
    }
    #expect(Self.read(try Self.open(server), 0..<content.count) == content)
  }

  /// A server that sends the whole file in place of a range is asked for one block only.
  @Test func wholeFilesAreNoRanges() throws {
    let content = [UInt8](repeating: 7, count: 50_000_000)
    let server = try RangeServer { _ in RangeServer.Answer(body: content) }
    let cache = Self.cache()
    guard case .wholeOnly(let prefix) = try RemoteSourceFile.open(server.url, cache: cache) else {
      Issue.record("ranges?")
      return
    }
    #expect(prefix == Array(content.prefix(RemoteCache.blockBytes)))
    #expect(cache.traffic.bytes < 1_000_000)
  }

  @Test(arguments: [
    ("https://host/a", "https://host/a"), ("https://anna:secret@host:81/a?b=c@d", "https://host:81/a?b=c@d"),
    ("http://host/@", "http://host/@"),
    ("https://host/a?x=1&Access_Token=abc&y=2#b", "https://host/a?x=1&Access_Token=…&y=2#b"),
    ("https://host/a?X-Amz-Credential=a%2Fb&X-Amz-Signature=0f", "https://host/a?X-Amz-Credential=…&X-Amz-Signature=…"),
    ("https://host/a?token=${TOKEN}", "https://host/a?token=${TOKEN}"),
  ])
  func messagesHaveNoPasswords(_ url: String, _ label: String) { #expect(RemoteSourceFile.label(url) == label) }

  /// Secrets are left to the environment of each process.
  @Test func addressesNameVariables() async throws {
    setenv("REMOTE_FILE_TEST_TOKEN", "abc", 1)
    let server = try RangeServer { request in
      request.path.hasSuffix("?token=abc&x=1") ? RangeServer.part([1, 2, 3], request) : RangeServer.Answer(status: 404)
    }
    let url = server.url + "?token=${REMOTE_FILE_TEST_TOKEN}&x=1"
    guard case .file(let file, let prefix) = try RemoteSourceFile.open(url, cache: Self.cache()) else {
      Issue.record("no ranges?")
      return
    }
    #expect(prefix == [1, 2, 3] && file.path == url)
    let error = #expect(throws: CutError.self) {
      try RemoteSourceFile.open(server.url + "?token=${REMOTE_FILE_TEST_NONE}", cache: Self.cache())
    }
    #expect(error?.code == .invalidOption && error?.message.contains("REMOTE_FILE_TEST_NONE") == true)
  }

  @Test func nobodyListens() throws {
    var port = 0
    do { port = try RangeServer { _ in RangeServer.Answer() }.port }
    #expect(throws: CutError.self) { try RemoteSourceFile.open("http://127.0.0.1:\(port)/a.tif", cache: Self.cache()) }
  }
}
