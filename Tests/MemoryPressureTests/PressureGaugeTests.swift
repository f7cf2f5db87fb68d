import MemoryPressure
import TestSupport
import Testing

@Suite(.ownThread) struct PressureGaugeTests {
  private func level(_ gauge: inout PressureGauge, _ used: Double, at seconds: Double) -> PressureLevel {
    gauge.take([PressureReading(.machine, used: used)], at: seconds)
  }

  @Test(arguments: [
    (0.0, PressureLevel.normal), (0.799, .normal), (0.80, .warning), (0.899, .warning), (0.90, .critical),
    (1.2, .critical),
  ])
  func levelsStartAtTheirThresholds(used: Double, expected: PressureLevel) {
    var gauge = PressureGauge()
    #expect(level(&gauge, used, at: 0) == expected)
  }

  @Test func highestReadingCounts() {
    var gauge = PressureGauge()
    let readings = [
      PressureReading(.machine, used: 0.3), PressureReading(.controlGroup("/g"), used: 0.95),
      PressureReading(.stalls, used: .nan),
    ]
    #expect(gauge.take(readings, at: 0) == .critical)
  }

  @Test func recoveryNeedsAGapAndTime() {
    var gauge = PressureGauge()
    #expect(level(&gauge, 0.85, at: 0) == .warning)
    // Below the threshold, but by less than the gap.
    for second in 1...20 { #expect(level(&gauge, 0.78, at: Double(second)) == .warning) }
    // Low enough, but interrupted before the time is over.
    for second in 21...25 { #expect(level(&gauge, 0.70, at: Double(second)) == .warning) }
    #expect(level(&gauge, 0.78, at: 25.5) == .warning)
    for second in 26...30 { #expect(level(&gauge, 0.70, at: Double(second)) == .warning) }
    #expect(level(&gauge, 0.70, at: 31) == .normal)
  }

  @Test func criticalFallsToWarningOrNormal() {
    var gauge = PressureGauge()
    #expect(level(&gauge, 0.99, at: 0) == .critical)
    #expect(level(&gauge, 0.82, at: 1) == .critical)
    #expect(level(&gauge, 0.82, at: 6) == .warning)
    #expect(level(&gauge, 0.99, at: 7) == .critical)
    #expect(level(&gauge, 0.10, at: 8) == .critical)
    #expect(level(&gauge, 0.10, at: 13) == .normal)
  }

  @Test func noReadingsMeanNoPressure() {
    var gauge = PressureGauge()
    #expect(gauge.take([], at: 0) == .normal)
    #expect(level(&gauge, 0.95, at: 1) == .critical)
    #expect(gauge.take([], at: 2) == .critical)
    #expect(gauge.take([], at: 8) == .normal)
  }

  /// For any readings: a level is never below what its reading demands, and a rise is never late.
  @Test(arguments: UInt64(1)...8) func randomReadingsFollowTheRules(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var gauge = PressureGauge()
    var seconds = 0.0
    for _ in 0..<2000 {
      seconds += Double.random(in: 0...3, using: &random)
      let used = Double.random(in: 0...1.1, using: &random)
      let before = gauge.level
      let after = level(&gauge, used, at: seconds)
      if used >= 0.9 { #expect(after == .critical, "seed \(seed)") }
      if used >= 0.8 { #expect(after >= .warning, "seed \(seed)") }
      if after > before { #expect(used >= 0.8, "seed \(seed)") }
      if after < before { #expect(used < 0.85, "seed \(seed)") }
    }
  }
}
