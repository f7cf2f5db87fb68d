import Support
import TestSupport
import Testing

@Suite(.ownThread) struct RateLimiterTests {
  @Test func eachKeyHasItsOwnBucket() {
    let limiter = RateLimiter(burst: 2, perMinute: 60)
    #expect(limiter.take("a") == nil && limiter.take("a") == nil)
    #expect(limiter.take("a") == 1 && limiter.take("b") == nil)
    #expect(limiter.take("c", count: 3) == 1 && limiter.take("c", count: 2) == nil)
  }

  @Test func aFullTableMakesNewKeysWait() {
    let limiter = RateLimiter(burst: 1, perMinute: 1)
    for key in 0..<100_000 where limiter.take("\(key)") != nil { Issue.record("\(key) waits") }
    #expect(limiter.take("new") == 60)
  }

  @Test func pacedRequestsKeepTheirDistance() async throws {
    let pacer = RequestPacer(rate: 100)
    let start = ContinuousClock.now
    for _ in 0..<6 { try await pacer.wait() }
    #expect(ContinuousClock.now - start >= .milliseconds(50))
  }
}
