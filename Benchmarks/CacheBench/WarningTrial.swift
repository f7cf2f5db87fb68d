import Foundation
import OfflineMap

/// A memory warning to a map session that holds 32 MiB of pictures, less than half of its budget. Exits with 1 if less
/// than half of them is given back, to the system too, or not at once.
enum WarningTrial {
  private static let heldBytes = 32 << 20
  private static let millisecondsMax = 100.0

  static func run() {
    do {
      let session = try MapSession(bundle: MapBundle(path: BundleTrial.sample()), budget: 96 << 20) { bytes in
        // Written, so that its pages are resident.
        ([UInt8](repeating: bytes[8], count: 256 << 10), byteCount: 256 << 10)
      }
      fill(session)
      let (held, resident) = (session.byteCount, ProcessMemory.anonymousKilobytes)
      let start = ContinuousClock.now
      session.memoryWarning()
      let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
      let (kept, residentAfter) = (session.byteCount, ProcessMemory.anonymousKilobytes)
      print(
        String(
          format: "memory warning: %.1f MiB of pictures kept of %.1f; RssAnon %.1f MB, before %.1f; %.1f ms",
          Double(kept) / 0x10_0000, Double(held) / 0x10_0000, Double(residentAfter) / 1024, Double(resident) / 1024,
          milliseconds))
      // The rest of the process has a MB or two of its own, which come and go.
      let isGiven = kept <= held / 2 && resident - residentAfter >= (held - kept) / 1024 - 2048
      print("half is given back: \(isGiven ? "ok" : "NOT MET")")
      print("at most \(Int(millisecondsMax)) ms: \(milliseconds <= millisecondsMax ? "ok" : "NOT MET")")
      exit(isGiven && milliseconds <= millisecondsMax ? 0 : 1)
    } catch {
      print("\(error)")
      exit(1)
    }
  }

  /// Moves the map until its session holds as much. All tiles were on the screen, so that none of them goes as one that
  /// was prefetched in vain.
  private static func fill(_ session: MapSession<[UInt8]>) {
    for step in 0... {
      let (column, row) = (step % 8, step / 8 % 8)
      session.update(
        Viewport(
          longitude: Double(column) * 45 - 157, latitude: 70 - Double(row) * 20, zoom: 5, size: (800, 600)),
        phase: .drag)
      while let load = session.loader.next() { session.finish(load, session.tiles.load(load.key)) }
      session.tiles.decoded.dropUnused()
      guard session.byteCount < heldBytes else { return }
    }
  }
}
