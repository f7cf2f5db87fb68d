import Dispatch
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// Stores computed hashes, so that restarts do not compute them again.
protocol FileHashStore: Sendable {
  /// By file.
  func hashes(in folder: String) -> [String: CatalogFileVerifier.KnownHash]
  func note(_ hashed: CatalogFileVerifier.KnownHash, of file: String, in folder: String)
  func forget(_ files: [String], in folder: String)
}

/// Checks that the files of the catalogue are in its folder as it says: their sizes at each check, and their SHA-256 in
/// the background, once for each version of a file.
final class CatalogFileVerifier: Sendable {
  enum Fault: Hashable, Sendable, CustomStringConvertible {
    case missing
    /// The actual number of bytes.
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
    var files: [Catalog.File] = []
    /// The first file of the next check.
    var next = 0
    var hashes: [String: KnownHash] = [:]
    var faults: [String: Fault] = [:]
    var waiting: [Catalog.File] = []
    var isHashing = false
  }

  /// The SHA-256 of one version of a file.
  struct KnownHash: Hashable, Sendable {
    let stamp: FileStamp
    /// Nil until it is computed.
    var sha256: String?
  }

  /// How many files one check covers: all files of a large catalogue each second would cost too much.
  private static let lookMax = 1_000

  private let folder: String
  private let store: (any FileHashStore)?
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "map-store.catalogue", qos: .background)

  /// - Parameter store: its hash of a file is valid until the file changes.
  init(folder: String, store: (any FileHashStore)? = nil) {
    (self.folder, self.store) = (folder, store)
    let hashes = store?.hashes(in: folder) ?? [:]
    state.withLock { $0.hashes = hashes }
  }

  /// Whether all hashes are computed.
  var isDone: Bool { state.withLock { !$0.isHashing } }

  var faults: [String: Fault] { state.withLock { $0.faults } }

  func fault(of file: String) -> Fault? { state.withLock { $0.faults[file] } }

  /// Takes the files of a new catalogue, and checks all of them, but for those of regions that no device installs.
  ///
  /// - Parameter seconds: how long it may compute hashes before it returns; the rest follows in the background.
  func set(_ regions: [Catalog.Region], hashingFor seconds: Double = 0) {
    let regions = regions.filter(\.isInstallable)
    let bundles = regions.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
    let parts = regions.flatMap { region in
      region.packs.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
        + region.patches.map { Catalog.File(file: $0.file, bytes: $0.bytes, sha256: $0.sha256) }
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
    if !gone.isEmpty { store?.forget(gone, in: folder) }
    look(files.count, hashingFor: seconds)
  }

  /// Checks the next files in turn, and queues those that have changed for hashing.
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
          // For sale until the hash is known: hashing a large catalogue takes minutes.
          state.faults[file.file] = nil
          state.hashes[file.file] = KnownHash(stamp: stamp)
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

  /// Computes the hashes that are likely done in time.
  private func hash(for seconds: Double) {
    let start = ContinuousClock.now
    // Starts with an assumed rate of 10 MB in 0.1 s.
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

  /// Stops the background work after the current file.
  func stop() { state.withLock { $0.waiting = [] } }

  /// Computes the next hash.
  ///
  /// - Returns: false if no file was waiting.
  @discardableResult private func hash() -> Bool {
    let next = state.withLock { state -> Catalog.File? in
      guard !state.waiting.isEmpty else {
        state.isHashing = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    guard let next else { return false }
    // A file that cannot be read gets no hash, and so does not match.
    let path = "\(folder)/\(next.file)"
    let computed = try? FileHash.sha256(ofFile: path)
    let sha256 = computed ?? ""
    let hashed = state.withLock { state in
      // If the file has changed meanwhile, the next check finds another stamp.
      state.hashes[next.file]?.sha256 = sha256
      if sha256 != next.sha256.lowercased() { state.faults[next.file] = .otherHash }
      return state.hashes[next.file]
    }
    if let hashed, computed != nil, FileStamp(path) == hashed.stamp { store?.note(hashed, of: next.file, in: folder) }
    return true
  }
}
