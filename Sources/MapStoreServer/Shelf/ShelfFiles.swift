import Dispatch
import Synchronization
import TileIndex

/// Whether the files that the catalogue names lie on the shelf as it says: their sizes at each look, their SHA-256 in the background, once for each state of a file.
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

  private struct Hashed {
    let stamp: FileStamp
    /// Nil while it waits for its turn.
    var sha256: String?
  }

  /// A look at all of a large shelf each second would be felt.
  private static let lookMax = 1_000

  private let folder: String
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "map-store.shelf", qos: .background)

  init(folder: String) { self.folder = folder }

  var faults: [String: Fault] { state.withLock { $0.faults } }

  func fault(of file: String) -> Fault? { state.withLock { $0.faults[file] } }

  /// Takes the files of another catalogue, and looks at all of them.
  func set(_ regions: [Catalogue.Region]) {
    let files = regions.flatMap { region in
      [Catalogue.File(file: region.file, bytes: region.bytes, sha256: region.sha256)]
        + region.parcels.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
        + region.patches.map { Catalogue.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    }
    let names = Set(files.map(\.file))
    state.withLock { state in
      state.files = files
      state.next = 0
      state.hashes = state.hashes.filter { names.contains($0.key) }
      state.faults = state.faults.filter { names.contains($0.key) }
    }
    look(files.count)
  }

  /// Looks at the next files in turn, and has those hashed that have changed.
  func look(_ count: Int = lookMax) {
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
    if begins { queue.async { [weak self] in self?.hash() } }
  }

  /// Ends the work in the background after the file that it is at.
  func stop() { state.withLock { $0.waiting = [] } }

  private func hash() {
    let next = state.withLock { state -> Catalogue.File? in
      guard !state.waiting.isEmpty else {
        state.isHashing = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    guard let next else { return }
    // What cannot be read is no file that could be sold.
    let sha256 = (try? FileHash.sha256(ofFile: "\(folder)/\(next.file)")) ?? ""
    state.withLock { state in
      // Of a file that has changed meanwhile the next look finds another stamp.
      state.hashes[next.file]?.sha256 = sha256
      if sha256 != next.sha256.lowercased() { state.faults[next.file] = .otherHash }
    }
    queue.async { [weak self] in self?.hash() }
  }
}
