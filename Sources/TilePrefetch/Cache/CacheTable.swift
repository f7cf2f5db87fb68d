public import Synchronization

/// A cache's tiles by their keys, to be looked up by many threads and changed by few.
///
/// There are 8 locks for the one dictionary: who looks takes only that of its own thread's lane, which no other processor has touched meanwhile, and who changes takes them all. So hits scale with the threads; a load or an eviction, which cost a thousand times as much, pay for it.
///
/// The dictionary does not own its tiles, the books do: so a hit counts no references, which would be the most expensive part of it. A tile is taken out here, under the locks, before the books let go of it.
@usableFromInline
struct CacheTable<Key: TileCacheKey, Value: Sendable>: ~Copyable, @unchecked Sendable {
  @usableFromInline typealias Tile = KeptTile<Key, Value>

  @usableFromInline
  struct Hit {
    @usableFromInline let value: Value
    @usableFromInline let isFirstUse: Bool

    @usableFromInline
    init(value: Value, isFirstUse: Bool) {
      self.value = value
      self.isFirstUse = isFirstUse
    }
  }

  /// How many hits a lane has had, behind its lock.
  @usableFromInline typealias Lane = Mutex<Int>
  static var laneCount: Int { 8 }
  /// Processors fetch lines of 64 bytes in pairs; so nothing else lies in a lane's.
  @inlinable static var stride: Int { 128 }

  @usableFromInline let lanes: UnsafeMutableRawPointer
  @usableFromInline let tiles: UnsafeMutablePointer<[Key: Unmanaged<Tile>]>

  init() {
    precondition(MemoryLayout<Lane>.size <= Self.stride)
    lanes = .allocate(byteCount: Self.laneCount * Self.stride, alignment: Self.stride)
    for number in 0..<Self.laneCount {
      (lanes + number * Self.stride).initializeMemory(as: Lane.self, to: Mutex(0))
    }
    tiles = .allocate(capacity: 1)
    tiles.initialize(to: [:])
  }

  deinit {
    for number in 0..<Self.laneCount { lane(number).deinitialize(count: 1) }
    lanes.deallocate()
    tiles.deinitialize(count: 1)
    tiles.deallocate()
  }

  @inlinable
  func lane(_ number: Int) -> UnsafeMutablePointer<Lane> {
    (lanes + (number & 7) &* Self.stride).assumingMemoryBound(to: Lane.self)
  }

  /// The tile, counted as a hit and used now.
  ///
  /// - Complexity: O(1).
  @inlinable
  func hit(_ key: Key, now: UInt64) -> Hit? {
    lane(ThreadNumber.current).pointee.withLock { hitCount in
      guard let tile = tiles.pointee[key] else { return nil }
      hitCount &+= 1
      return tile._withUnsafeGuaranteedRef { tile in
        tile.touch(now)
        return Hit(value: tile.value, isFirstUse: tile.isUnused)
      }
    }
  }

  /// The tile, not counted.
  func peek(_ key: Key) -> Tile? {
    lane(ThreadNumber.current).pointee.withLock { _ in tiles.pointee[key]?.takeUnretainedValue() }
  }

  /// Puts in a tile that the caller keeps, or takes it out.
  ///
  /// - Complexity: O(1); waits for all who look something up.
  func set(_ tile: Tile?, for key: Key) {
    let tile = tile.map { Unmanaged.passUnretained($0) }
    withAllLocks(from: 0) { tiles.pointee[key] = tile }
  }

  private func withAllLocks(from number: Int, _ change: () -> Void) {
    guard number < Self.laneCount else { return change() }
    lane(number).pointee.withLock { _ in withAllLocks(from: number + 1, change) }
  }

  var hitCount: Int {
    (0..<Self.laneCount).reduce(0) { $0 + lane($1).pointee.withLock { $0 } }
  }
}
