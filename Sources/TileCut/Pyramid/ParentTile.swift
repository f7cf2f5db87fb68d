import TileImage
import TileIndex

/// A tile that is being put together from its children.
struct ParentTile {
  let id: TileID
  /// Children that have not come yet.
  private(set) var missing: Int
  /// The tile's pixels; nil as long as all children were empty.
  private(set) var pixels: PixelBuffer?
  /// With picking, a small region can fall between the picked pixels; one pixel of each child is kept against that.
  private var strays: [(x: Int, y: Int, rgba: UInt32)] = []

  init(id: TileID, childCount: Int) {
    self.id = id
    missing = childCount
  }

  /// Takes a child, reduced, into its place; nil stands for a child without a visible pixel.
  mutating func add(_ child: PixelBuffer?, at childID: TileID, reduction: Reduction, pool: BufferPool) {
    missing -= 1
    guard let child else { return }
    let ratio = reduction.matrixSet.ratio(below: id.zoom)
    let matrix = reduction.matrixSet[id.zoom]
    let target = pixels ?? pool.take()
    pixels = target
    let x = (childID.column - id.column * ratio) * matrix.tileWidth / ratio
    let y = (childID.row - id.row * ratio) * matrix.tileHeight / ratio
    if reduction.picks {
      Reduce.pick(child, ratio: ratio, into: target, x: x, y: y, phase: reduction.phase(parentZoom: id.zoom))
      if let stray = child.firstVisiblePixel() {
        strays.append((x + stray.x / ratio, y + stray.y / ratio, stray.rgba))
      }
    } else {
      Reduce.average(child, ratio: ratio, into: target, x: x, y: y)
    }
  }

  /// The finished pixels, nil when no child had any.
  mutating func finish() -> PixelBuffer? {
    if let pixels, !strays.isEmpty, pixels.opacity == .transparent {
      for stray in strays {
        pixels.bytes.storeBytes(of: stray.rgba, toByteOffset: (stray.y * pixels.width + stray.x) * 4, as: UInt32.self)
      }
    }
    return pixels
  }
}

/// How children become parents.
struct Reduction: Sendable {
  let matrixSet: TileMatrixSet
  /// True when a parent's pixels are picked, not averaged.
  let picks: Bool
  let workingZoom: Int

  /// Which pixel of a block is picked. The four pixels of a 2 x 2 block are equally near the parent pixel's centre; taking the lower right and the upper left
  /// in turns keeps the picked pixel within half a source pixel of where a direct pick would be, instead of drifting one way.
  func phase(parentZoom: Int) -> Int { (workingZoom - parentZoom) % 2 }
}

extension PixelBuffer {
  /// The first pixel that is not transparent, in reading order.
  fileprivate func firstVisiblePixel() -> (x: Int, y: Int, rgba: UInt32)? {
    for i in 0..<(width * height) where bytes.load(fromByteOffset: i * 4 + 3, as: UInt8.self) != 0 {
      return (i % width, i / width, bytes.load(fromByteOffset: i * 4, as: UInt32.self))
    }
    return nil
  }
}

/// Pixel buffers between two uses, all of one size. One per worker: the same few buffers go round, and malloc stays quiet.
final class BufferPool {
  private let width: Int
  private let height: Int
  private var spare: [PixelBuffer] = []
  /// Buffers that come from elsewhere, such as the roots of finished units, must not pile up here.
  private let spareCountMax = 8

  init(_ matrix: TileMatrix) {
    (width, height) = (matrix.tileWidth, matrix.tileHeight)
  }

  /// A transparent buffer.
  func take() -> PixelBuffer {
    guard let buffer = spare.popLast() else { return PixelBuffer(width: width, height: height) }
    buffer.clear()
    return buffer
  }

  func give(_ buffer: PixelBuffer) {
    if spare.count < spareCountMax { spare.append(buffer) }
  }
}
