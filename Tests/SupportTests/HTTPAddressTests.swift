import Support
import TestSupport
import Testing

@Suite(.ownThread) struct HTTPAddressTests {
  @Test(arguments: [
    ("http://a", "http://a/"), ("HTTPS://A.Example:443/B?c", "https://a.example:443/B?c"),
    ("http://a?b", "http://a/?b"),
    ("http://127.0.0.1:65535/x", "http://127.0.0.1:65535/x"), ("http://[::1]:1/", "http://[::1]:1/"),
    ("http://[2001:DB8::1]", "http://[2001:db8::1]/"), ("http://my_host-1/", "http://my_host-1/"),
  ])
  func addressesAreRead(text: String, canonical: String) throws {
    #expect(try HTTPAddress(text).text == canonical)
  }

  /// HTTP libraries end the process on some of them.
  @Test(arguments: [
    ("http://a:65536", "port"), ("http://a:0", "port"), ("http://a:-1", "port"), ("http://a:+80", "port"),
    ("http://a:", "port"), ("http://a:99999999999999999999", "port"), ("http://[::1]:65536/", "port"),
    ("http://[]", "host"), ("http://[::1", "host"), ("http://[a]/", "host"), ("http://", "host"),
    ("http://:80", "host"),
    ("http:///x", "host"), ("http://a%00b/", "host"), ("http://a,b/", "host"), ("http://user:secret@a/", "user"),
    ("http://a/#b", "fragment"), ("http://a b/", "percent"), ("http://a/\\b", "percent"), ("http://\u{e4}/", "percent"),
    ("ftp://a", "begin"), ("//a", "begin"), ("a:80", "begin"), ("", "begin"),
  ])
  func othersAreRefused(text: String, word: String) {
    #expect { try HTTPAddress(text) } throws: { "\($0)".contains(word) }
    // Passwords and keys are not repeated.
    #expect { try HTTPAddress(text) } throws: { !"\($0)".contains("secret") }
  }

  @Test func noTextEndsTheProcess() {
    var random = SeededGenerator(seed: 1)
    let alphabet = Array("htps:/[]@#?%\\.0123456789abcdef-_ \u{0}\u{7f}ä")
    var valid = 0
    for _ in 0..<20_000 {
      let text =
        "http://"
        + String((0...Int.random(in: 0..<12, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
      guard let address = try? HTTPAddress(text) else { continue }
      valid += 1
      #expect((try? HTTPAddress(address.text)) == address, "\(text)")
      #expect(address.port.map { (1...65_535).contains($0) } ?? true)
    }
    #expect(valid > 0)
  }
}

@Suite(.ownThread) struct DeadlineTests {
  @Test func workThatEndsInTimeGivesItsValue() async throws {
    #expect(try await Deadline(after: 600).run { 5 } == 5)
    #expect(try await Deadline(after: 600).run { Int?.none } == nil)
    await #expect(throws: Refused.self) { try await Deadline(after: 600).run { throw Refused() } }
  }

  private struct Refused: Error {}

  @Test func workWithoutAnEndIsCancelled() async throws {
    let isCancelled = Locked(false)
    await #expect(throws: Deadline.Passed.self) {
      try await Deadline(after: 0.05).run {
        do { try await Task.sleep(for: .seconds(600)) } catch {
          isCancelled.withLock { $0 = true }
          throw error
        }
      }
    }
    #expect(isCancelled.withLock { $0 })
  }

  @Test func progressMovesTheEnd() async throws {
    let deadline = Deadline(after: 0.2)
    try await deadline.run {
      for _ in 0..<10 {
        deadline.restart(600)
        try await Task.sleep(for: .milliseconds(40))
      }
      deadline.restart(0)
      deadline.extend(by: 600)
    }
    #expect(deadline.secondsLeft > 0)
  }

  /// The caller's own cancellation is no deadline.
  @Test func cancellationPassesThrough() async throws {
    let task = Task { try await Deadline(after: 600).run { try await Task.sleep(for: .seconds(600)) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
