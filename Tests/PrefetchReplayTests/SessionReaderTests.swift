import PrefetchReplay
import TestSupport
import Testing

@Suite(.ownThread) struct SessionReaderTests {
  private func read(_ lines: String...) throws -> RecordedSession {
    try SessionReader.read(Array(lines.joined(separator: "\n").utf8), name: "s", file: "s.jsonl")
  }

  @Test func everyGestureKindIsRead() throws {
    let session = try read(
      #"{"meta": {"src": "syn", "seed": 1}}"#, #"{"op": "start", "t": 0, "z": 13, "x": 0.5, "y": 0.4}"#,
      #"""
      {"op": "pan", "t": 1, "dur": 0.3, "dx": -0.1, "dy": 0.2, "fling": 1, "fdur": 2, "fdx": -0.6, "fdy": 0.1, \#
      "frun": 0.7}
      """#,
      #"{"op": "zoom", "t": 3, "dur": 0.25, "z": 14, "x": 0.5, "y": 0.4, "kind": "dbl"}"#,
      #"{"op": "jump", "t": 5, "dur": 0, "z": 12, "x": 0.51, "y": 0.41}"#,
      #"{"op": "follow", "t": 6, "z": 16, "pts": [[0, 0.5, 0.4], [13.5, 0.5001, 0.4]]}"#, "")
    #expect(session.source == "syn" && session.gestures.count == 5)
    #expect(session.gestures[1].kind == .pan(dx: -0.1, dy: 0.2, fling: .init(dx: -0.6, dy: 0.1, duration: 0.7)))
    #expect(session.gestures[2].kind == .zoom(.world(x: 0.5, y: 0.4), zoom: 14, isAnimated: true))
  }

  @Test(arguments: [
    ("", "the first gesture"), ("nonsense", "line 1 is not JSON"),
    (#"{"op": "panS", "t": 0, "X": 1, "Y": 1}"#, "the first gesture"),
    (#"{"op": "start", "t": 0, "z": 99, "x": 0.5, "y": 0.4}"#, "out of range"),
    (#"{"op": "start", "t": 0, "z": 9, "x": 0.5}"#, "no number \"y\""), (#"{"op": "leap", "t": 0}"#, "unknown op"),
    (#"{"op": "start", "t": 0, "z": 9, "x": 0.5, "y": 1e999}"#, "y"),
    (#"{"op": "follow", "t": 0, "z": 9, "pts": [[3, 0, 0], [1, 0, 0]]}"#, "a point"),
  ])
  func malformedSessionsAreRejected(_ text: String, _ reason: String) {
    do {
      _ = try read(text)
      Issue.record("\(text) was read")
    } catch {
      #expect("\(error)".hasPrefix("s.jsonl: ") && "\(error)".contains(reason), "\(error)")
    }
  }

  @Test func decreasingTimesAreRejected() {
    #expect(throws: ReplayError.self) {
      try read(
        #"{"op": "start", "t": 5, "z": 9, "x": 0.5, "y": 0.4}"#, #"{"op": "jump", "t": 1, "z": 9, "x": 0.5, "y": 0.4}"#)
    }
  }
}
