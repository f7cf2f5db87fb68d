// Stands in for SwiftUI where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public import CoreGraphics

public struct CGRect { public init(x: Double, y: Double, width: Double, height: Double) {} }
public struct CGSize { public init() {} }
@MainActor public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
@resultBuilder public enum ViewBuilder { public static func buildBlock<V: View>(_ view: V) -> V { view } }
@propertyWrapper public struct State<Value> {
  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
  public var wrappedValue: Value {
    get { fatalError() }
    nonmutating set {}
  }
}
public struct Image { public init(decorative image: CGImage, scale: Double) {} }
public struct GraphicsContext { public func draw(_ image: Image, in rect: CGRect) {} }
public struct Canvas: View {
  public init(renderer: @escaping (inout GraphicsContext, CGSize) -> Void) {}
  public var body: Never { fatalError() }
}
public struct Modified: View { public var body: Never { fatalError() } }
extension View {
  public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping () -> Void) -> some View {
    Modified()
  }
  public func task(@_inheritActorContext _ action: sending @escaping @isolated(any) () async -> Void) -> some View {
    Modified()
  }
}
