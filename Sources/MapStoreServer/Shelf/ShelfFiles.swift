import Dispatch
import Support
import Synchronization
import TileIndex

/// What outlives the process of the hashes that were computed.
protocol HashMemory: Sendable {
  /// By file.
  func hashes(in folder: String) -> [String: ShelfFiles.Hashed]
  func note(_ hashed: ShelfFiles.Hashed, of file: String, in folder: String)
  func forget(_ files: [String], in folder: String)
}

/// Whether the files that the catalogue names lie on the shelf as it says: their sizes at each look, their SHA-256 in the background, once for each state of a file, also over restarts.
final class ShelfFiles: Sendable {
  enum Fault: Hashable, Sendable, CustomStringConvertible {
    case missing
    /// It has this many bytes.
    case otherSize(Int)
    case otherHash

    var description: String {
      switch self {
      case .missing: "is missing"
      case .otherSize(let bytes): "has \(bytes) bytes, and not those that the catalogue says"
      case .otherHash: "has another SHA-256 than the catalogue says"
      }
    }
  }

  private struct State {
    var files: [Catalogue.File] = []
    /// Where the next look begins.
    var next = 0
    var hashes: [String: Hashed] = [:]
    var faults: [String: Fault] = [:]
    var waiting: [Catalogue.File] = []
    var isHashing = false
  }

  /// The SHA-256 of a file in one of its states.
  struct Hashed: Hashable, Sendable {
    let stamp: FileStamp
    /// Nil while it waits for its turn.
    var sha256: String?
  }

  /// A look at all of a large shelf each second would be felt.
  private static let lookMax = 1_000

  private let folder: String
  private let memory: (any HashMemory)?
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "map-store.shelf", qos: .background)

  /// - Parameter memory: what it has of a file counts as long as the file is as it was.
  init(folder: String, memory: (any HashMemory)? = nil) {
    (self.folder, self.memory) = (folder, memory)
    let hashes = memory?.hashes(in: folder) ?? [:]
    state.withLock { $0.hashes = hashes }
  }

  /// Whether nothing is left to hash.
  var isDone: Bool { state.withLock { !$0.isHashing } }

  var faults: [String: Fault] { state.withLock { $0.faults } }

  func fault(of file: String) -> Fault? { state.withLock { $0.faults[file] } }

  /// Takes the files of another catalogue, and looks at all of them.
  ///
  /// - Parameter seconds: so long it may hash before it returns; the rest is done in the background.
  func set(_ regions: [Catalogue.Region], hashingFor seconds: Double = 0) {
    let bundles = regions.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    let parts = regions.flatMap { region in
      region.parcels.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
        + region.patches.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    }
    let files = bundles + parts
    let names = Set(files.map(\.file))
    let gone = state.withLock { state in
      defer { state.hashes = state.hashes.filter { names.contains($0.key) } }
      state.files = files
      state.next = 0
      state.faults = state.faults.filter { names.contains($0.key) }
      return state.hashes.keys.filter { !names.contains($0) }
    }
    if !gone.isEmpty { memory?.forget(gone, in: folder) }
    look(files.count, hashingFor: seconds)
  }

  /// Looks at the next files in turn, and has those hashed that have changed.
  func look(_ count: Int = lookMax, hashingFor seconds: Double = 0) {
    let files = state.withLock { state in
      let end = min(state.next + count, state.files.count)
      defer { state.next = end == state.files.count ? 0 : end }
      return Array(state.files[state.next..<end])
    }
    let stamps = files.map { FileStamp("\(folder)/\($0.file)") }
    let begins = state.withLock { state in
      for (file, stamp) in zip(files, stamps) {
        guard let stamp, stamp.bytes == file.bytes else {
          state.faults[file.file] = stamp.map { .otherSize($0.bytes) } ?? .missing
          continue
        }
        if let known = state.hashes[file.file], known.stamp == stamp {
          let isOther = known.sha256.map { $0 != file.sha256.lowercased() } ?? false
          state.faults[file.file] = isOther ? .otherHash : nil
        } else {
          // Sold until it is known to be another: the hashes of a large shelf take minutes.
          state.faults[file.file] = nil
          state.hashes[file.file] = Hashed(stamp: stamp)
          state.waiting.append(file)
        }
      }
      defer { state.isHashing = state.isHashing || !state.waiting.isEmpty }
      return !state.isHashing && !state.waiting.isEmpty
    }
    guard begins else { return }
    hash(for: seconds)
    hashNext()
  }

  /// Hashes what waits, as much as is likely done in time.
  private func hash(for seconds: Double) {
    let start = ContinuousClock.now
    // As if 10 MB of them had taken a tenth of a second, until more is known of the disk.
    var bytes = 10e6
    while let next = state.withLock({ $0.waiting.first }) {
      let passed = (ContinuousClock.now - start) / .seconds(1)
      guard passed + Double(next.bytes) * (passed + 0.1) / bytes < seconds else { return }
      hash()
      bytes += Double(next.bytes)
    }
  }

  private func hashNext() {
    queue.async { [weak self] in
      guard let self, hash() else { return }
      hashNext()
    }
  }

  /// Ends the work in the background after the file that it is at.
  func stop() { state.withLock { $0.waiting = [] } }

  /// - Returns: whether there was a file that waited.
  @discardableResult private func hash() -> Bool {
    let next = state.withLock { state -> Catalogue.File? in
      guard !state.waiting.isEmpty else {
        state.isHashing = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    guard let next else { return false }
    // What cannot be read is no file that could be sold.
    let path = "\(folder)/\(next.file)"
    let computed = try? FileHash.sha256(ofFile: path)
    let sha256 = computed ?? ""
    let hashed = state.withLock { state in
      // Of a file that has changed meanwhile the next look finds another stamp.
      state.hashes[next.file]?.sha256 = sha256
      if sha256 != next.sha256.lowercased() { state.faults[next.file] = .otherHash }
      return state.hashes[next.file]
    }
    if let hashed, computed != nil, FileStamp(path) == hashed.stamp { memory?.note(hashed, of: next.file, in: folder) }
    return true
  }
}
