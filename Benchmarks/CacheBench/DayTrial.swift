import Foundation
import PrefetchReplay

/// Replays a generated session of a day in virtual time with the real cache and loader, and prints missing tiles and
/// the process's memory per hour. Exits with 1 if the last hours are much worse than the first ones, or the memory
/// grows.
enum DayTrial {
  /// How much worse the mean of the last hours may be than that of the first hours: hours differ in their gestures.
  private static let driftMax = 1.25
  private static let hoursCompared = 6
  private static let growthMax = 4 << 10

  static func run(gestures: Int) {
    var settings = ReplaySettings()
    settings.budget = 128 << 18
    let session = SessionGenerator.session(seed: 11, gestureCount: gestures)
    print("hour  tiles shown  blank tile-frames each  loads each  RssAnon kB")
    var last = ReplayScore()
    var hours: [ReplayScore] = []
    var memory: [Int] = []
    let whole = settings.replay(session, policy: .default, every: 3600) { score in
      let hour = score.since(last)
      last = score
      hours.append(hour)
      memory.append(ProcessMemory.anonymousKilobytes)
      print(
        String(
          format: "%4d  %11d  %22.4f  %10.3f  %10d", hours.count, hour.requests, hour.blanksEach, hour.loadsEach,
          memory[memory.count - 1]))
      // Flushed each hour, also into a pipe.
      fflush(nil)
    }
    precondition(whole.bytesPeak <= settings.budget)
    guard hours.count >= 2 * hoursCompared else {
      print("too short to compare its beginning with its end")
      exit(1)
    }
    let early = hours.prefix(hoursCompared).reduce(ReplayScore(), +)
    let late = hours.suffix(hoursCompared).reduce(ReplayScore(), +)
    let blanks = late.blanksEach / early.blanksEach
    let loads = late.loadsEach / early.loadsEach
    let growth = memory[memory.count - 1] - memory[0]
    verdict("blank tile-frames, last \(hoursCompared) hours to first \(hoursCompared)", blanks, driftMax)
    verdict("loads, last \(hoursCompared) hours to first \(hoursCompared)", loads, driftMax)
    verdict("kB of RssAnon more than after the first hour", Double(growth), Double(growthMax))
    exit(blanks <= driftMax && loads <= driftMax && growth <= growthMax ? 0 : 1)
  }

  private static func verdict(_ name: String, _ value: Double, _ most: Double) {
    let verdict = value <= most ? "ok" : "NOT MET"
    print("\(name): \(String(format: "%.2f", value)) (at most \(String(format: "%g", most)): \(verdict))")
  }
}

extension ReplayScore {
  fileprivate var blanksEach: Double { Double(blankTileFrames) / Double(max(1, requests)) }
  fileprivate var loadsEach: Double { Double(loads) / Double(max(1, requests)) }
}
