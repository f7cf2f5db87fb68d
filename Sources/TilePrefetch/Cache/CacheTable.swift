import LibC
public import Synchronization

/// A cache's tiles by key, for many readers and few writers.
///
/// Eight locks guard one dictionary. A reader takes only the lock of its thread's lane, which usually no other
/// processor has touched since; a writer takes all of them. So hits scale with threads, at the cost of loads and
/// evictions, which take a thousand times as long anyway.
///
/// The dictionary does not own the tiles, `CacheState` does: a hit then counts no references, which would be its most
/// expensive part. A tile is removed here, under the locks, before its owner releases it.
@usableFromInline
struct CacheTable<Key: TileCacheKey, Value: Sendable>: ~Copyable, @unchecked Sendable {
  @usableFromInline typealias Tile = CachedTile<Key, Value>

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

  /// The number of hits of a lane, behind its lock.
  @usableFromInline typealias Lane = Mutex<Int>
  static var laneCount: Int { 8 }
  /// Processors fetch cache lines of 64 bytes in pairs, so a lane's 128 bytes hold nothing else.
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

  /// The tile, counted as a hit and marked as used now.
  ///
  /// - Complexity: O(1).
  @inlinable
  func hit(_ key: Key, now: UInt64) -> Hit? {
    lane(ThreadNumber.current).pointee.withLock { hitCount in
      guard let tile = tiles.pointee[key] else { return nil }
      hitCount &+= 1
      return tile._withUnsafeGuaranteedRef { tile in
        tile.touch(now)
        // It is kept as long as it is in the dictionary.
        return Hit(value: tile.value.unsafelyUnwrapped, isFirstUse: tile.isUnused)
      }
    }
  }

  /// The tile, without counting a hit.
  func peek(_ key: Key) -> Tile? {
    lane(ThreadNumber.current).pointee.withLock { _ in tiles.pointee[key]?.takeUnretainedValue() }
  }

  /// Adds a tile. The caller keeps it alive until it is withdrawn.
  ///
  /// - Complexity: O(1); waits for all lookups in progress.
  func publish(_ tile: Tile) {
    let (key, tile) = (tile.key, Unmanaged.passUnretained(tile))
    withAllLocks(from: 0) { tiles.pointee[key] = tile }
  }

  /// Removes a tile, and lets go of its value. The entry must be one of this cache's tiles.
  ///
  /// - Complexity: as for ``publish(_:)``.
  func withdraw(_ entry: CachedEntry) {
    let tile = unsafeDowncast(entry, to: Tile.self)
    var value: Value?
    withAllLocks(from: 0) {
      tiles.pointee[tile.key] = nil
      swap(&value, &tile.value)
    }
    // The value is released here, when readers can go on.
  }

  func key(of entry: CachedEntry) -> Key { unsafeDowncast(entry, to: Tile.self).key }

  private func withAllLocks(from number: Int, _ change: () -> Void) {
    guard number < Self.laneCount else { return change() }
    lane(number).pointee.withLock { _ in withAllLocks(from: number + 1, change) }
  }

  var hitCount: Int {
    (0..<Self.laneCount).reduce(0) { $0 + lane($1).pointee.withLock { $0 } }
  }
}

/// Numbers threads in the order in which they ask first, so that few of them share a lane.
@usableFromInline
enum ThreadNumber {
  private static let count = Atomic<Int>(0)

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = pthread_key_create(&key, nil)
    precondition(error == 0, "the system has no keys for threads left")
    return key
  }()

  /// The calling thread's number, from 1.
  @usableFromInline static var current: Int {
    let known = Int(bitPattern: pthread_getspecific(key))
    return known != 0 ? known : assign()
  }

  private static func assign() -> Int {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    // If the system has no memory for it, the thread gets another number next time. Any number works.
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
    return number
  }
}
